"""What a mask of indices leaves out of a loop: pairs of which each counts once, bands, what comes later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import clone
from ragged_dialect.ir.kinds import NEUTRAL
from ragged_dialect.ir.match import constant_int, defining_op, made_by
from ragged_dialect.ir.walk import is_outside
from ragged_dialect.lowering.buffers.subviews import root
from ragged_dialect.lowering.nests.combiners import Combiner
from ragged_dialect.lowering.nests.sum_nests import induction_variable

_EQUAL, _LESS, _AT_MOST, _MORE, _AT_LEAST = 0, 2, 3, 4, 5
_MIRRORED = {_EQUAL: _EQUAL, _LESS: _MORE, _AT_MOST: _AT_LEAST, _MORE: _LESS, _AT_LEAST: _AT_MOST}
"""What holds of b and a where a predicate of `arith.cmpi` holds of a and b."""
_SMALL = 1 << 31
_LARGE = 1 << 61
"""Indices are below 2**61, and constants that are added to them small: no sum of some wraps."""
_NEUTRAL = {**NEUTRAL, "arith.addf": 0.0}
"""Numbers that change nothing; a sum that starts with 0 never is the -0 that another 0 would change."""
_COUNTED_ONCE = frozenset(
    f"arith.{name}" for name in "ori andi maximumf minimumf maxnumf minnumf maxsi minsi maxui minui select".split()
)
"""Combiners for which one element counts as much as several equal ones."""
_NUMBERS = frozenset(f"arith.{name}" for name in "extui uitofp".split())
"""Ops that make a number of a boolean; of what is wider they make another one of numbers below 0."""

Ranges = Mapping[ir.Value, tuple[Mixed, Mixed]]
"""The least and the largest that some indices are."""


@dataclass(frozen=True)
class Mask:
    """A comparison of the index of a loop with others; what elements of some combiners are where it is false."""

    op: ir.Operation
    bounds: tuple[_Bound, ...]
    left: tuple[float, ...]

    @staticmethod
    def all_of(
        loop: ir.Operation, ops: Sequence[ir.Operation], combiners: Sequence[Combiner], once: Sequence[bool]
    ) -> list[Mask]:
        """Those among some ops without which a loop combines the same; `once`: where an element may be combined after
        it, once for all that are left out."""
        found: list[Mask] = []
        for op in ops:
            bounds = _bounds(op, loop) if op.name == "arith.cmpi" else []
            read = [root(load.operands[0]) for x in bounds for load in x.other.loads()]
            if any(root(store.operands[1]) in read for store in ops if store.name == "memref.store"):
                continue
            left = [_without(x.element, op) for x in combiners] if bounds else [None]
            known = [number for number in left if number is not None]
            if len(known) == len(left) and all(map(_is_harmless, combiners, known, once)):
                found.append(Mask(op, tuple(bounds), tuple(known)))
        return found

    def narrow(self, low: ir.Value, high: ir.Value, ranges: Ranges) -> tuple[ir.Value, ir.Value]:
        """The iterations in which it may be true for some of the other indices, at the insertion point; none at the
        first of them or later, where there are none."""
        for predicate, other in self.bounds:
            if predicate in (_EQUAL, _AT_LEAST, _MORE):
                first = build.add(other.extreme(ranges, largest=False), int(predicate == _MORE))
                low = build.value(build.maximum(low, first))
            if predicate in (_EQUAL, _AT_MOST, _LESS):
                end = build.add(other.extreme(ranges, largest=True), int(predicate != _LESS))
                high = build.value(build.minimum(high, end))
        return low, build.value(build.maximum(low, high))


def is_neutral(combiner: Combiner, number: float) -> bool:
    """Whether a number changes nothing that it is combined with."""
    return number == _NEUTRAL.get(combiner.ops[-1].name)


def _is_harmless(combiner: Combiner, number: float, once: bool) -> bool:
    return is_neutral(combiner, number) or (once and combiner.ops[-1].name in _COUNTED_ONCE)


def _without(value: ir.Value, mask: ir.Operation) -> float | None:
    """The number that a value is wherever a mask is false; None where there is no such number."""
    op = defining_op(value)
    if op is None:
        return None
    if op == mask:
        return 0
    if op.name == "arith.constant":
        attribute = op.attributes["value"]
        known = attribute.value if isinstance(attribute, (ir.IntegerAttr, ir.FloatAttr)) else None
        return abs(known) if known is not None and value.type == ir.IntegerType.get_signless(1) else known
    if op.name == "arith.select":
        chosen = _without(op.operands[0], mask)
        return None if chosen is None else _without(op.operands[1 if chosen else 2], mask)
    if op.name in _NUMBERS and op.operands[0].type == ir.IntegerType.get_signless(1):
        return _without(op.operands[0], mask)
    if op.name in ("arith.andi", "arith.muli"):
        return 0 if 0 in [_without(x, mask) for x in op.operands] else None
    if op.name == "arith.ori":
        return 0 if [_without(x, mask) for x in op.operands] == [0, 0] else None
    return None


@dataclass(frozen=True)
class _Index:
    """A sum of the index of a loop, so many times, of those of loops around it, of a value of outside, which is any and
    may be read by a load in the loop, and of a constant."""

    times: int = 0
    others: tuple[tuple[int, ir.Value], ...] = ()
    any: tuple[tuple[int, ir.Value, ir.Operation | None], ...] = ()
    constant: int = 0

    def plus(self, other: _Index, sign: int) -> _Index:
        """This one and so many times another one."""
        return _Index(
            self.times + sign * other.times,
            (*self.others, *((sign * k, x) for k, x in other.others)),
            (*self.any, *((sign * k, x, load) for k, x, load in other.any)),
            self.constant + sign * other.constant,
        )

    def loads(self) -> list[ir.Operation]:
        """What is read for it."""
        return [load for *_, load in self.any if load is not None]

    def extreme(self, ranges: Ranges, largest: bool) -> Mixed:
        """The least or largest that it is without the index of the loop, at the insertion point. A value of outside is
        taken for no larger than any index: what is compared with one stays the same."""
        total: Mixed = self.constant
        known = [(k, x if load is None else clone(load, {}).results[0]) for k, x, load in self.any]
        limited = [(k, build.maximum(build.minimum(build.to_index(x), _LARGE), -_LARGE)) for k, x in known]
        for sign, x in (*self.others, *limited):
            found: Mixed = ranges[x][largest == (sign > 0)] if x in ranges else x
            total = build.add(total, found) if sign > 0 else build.sub(total, found)
        return total


def _index(value: ir.Value, loop: ir.Operation) -> _Index | None:
    known = constant_int(value)
    if known is not None:
        return _Index(constant=known) if abs(known) < _SMALL else None
    if isinstance(value.owner, ir.Block):
        around = value.owner.owner.operation
        if around.name != "scf.for" or value != induction_variable(around):
            return None
        return _Index(times=1) if around == loop else _Index(others=((1, value),))
    op = value.owner.operation
    if op.name == "arith.index_cast" and {str(x.type) for x in (value, op.operands[0])} == {"i64", "index"}:
        return _index(op.operands[0], loop)
    if op.name in ("arith.addi", "arith.subi"):
        a, b = (_index(x, loop) for x in op.operands)
        return None if a is None or b is None else a.plus(b, 1 if op.name == "arith.addi" else -1)
    return None


def _compared(value: ir.Value, loop: ir.Operation) -> _Index | None:
    """One side of a comparison: indices, any value of outside, or the one number of a buffer, which is there also where
    the loop has no iterations."""
    found = _index(value, loop)
    is_wide = isinstance(value.type, ir.IndexType) or value.type == build.i64()
    if found is not None or not is_wide:
        return found
    if is_outside(value, loop):
        return _Index(any=((1, value, None),))
    load = made_by(value, "memref.load")
    is_number = load is not None and len(load.operands) == 1 and is_outside(load.operands[0], loop)
    return _Index(any=((1, value, load),)) if is_number else None


class _Bound(NamedTuple):
    """A predicate, and what the index of the loop compares so with."""

    predicate: int
    other: _Index


def _bounds(mask: ir.Operation, loop: ir.Operation) -> list[_Bound]:
    """What a comparison says of the index of a loop and of others."""
    predicate = mask.attributes["predicate"].value
    if predicate not in _MIRRORED:
        return []
    found: list[_Bound] = []
    left, right = mask.operands
    for predicate, a, b in _signed(predicate, left, right, loop):
        difference = a.plus(b, -1)
        if abs(difference.times) != 1 or not difference.others:
            return []
        if difference.times > 0:
            difference = _Index().plus(difference, -1)
        else:
            predicate = _MIRRORED[predicate]
        found.append(_Bound(predicate, difference))
    return found


def _signed(predicate: int, a: ir.Value, b: ir.Value, loop: ir.Operation) -> Iterator[tuple[int, _Index, _Index]]:
    """A comparison, without the magnitude of one side: two then."""
    if made_by(b, "math.absi") is not None:
        predicate, a, b = _MIRRORED[predicate], b, a
    absolute, right = made_by(a, "math.absi"), _compared(b, loop)
    left = _compared(a, loop) if absolute is None else _index(absolute.operands[0], loop)
    if left is None or right is None:
        return
    if absolute is None:
        yield predicate, left, right
    elif predicate in (_LESS, _AT_MOST):
        yield predicate, left, right
        yield predicate, _Index().plus(left, -1), right
