"""Reductions whose partial results can be combined in any grouping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build
from ragged_dialect.ir.clone import clone
from ragged_dialect.ir.match import defining_op
from ragged_dialect.lowering.combiners import NEUTRAL, neutral_constant
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp

_GREATER, _LESS = (2, 3, 9, 10), (4, 5, 11, 12)
_UNORDERED = 8
"""Predicates of `arith.cmpf` from here on hold for NaN."""


@dataclass(frozen=True)
class Combiner:
    """acc = f(x, acc): the ops of f, x and acc in them, the result, and the neutral element."""

    ops: tuple[ir.Operation, ...]
    element: ir.Value
    accumulator: ir.Value
    result: ir.Value
    neutral: float | str

    @property
    def is_sum(self) -> bool:
        """Whether it adds floats."""
        return self.ops[0].name == "arith.addf"

    @property
    def takes_pairs(self) -> bool:
        """Whether elements may be combined with each other first. A maximum by comparison may not: it
        leaves NaN out as the element only."""
        return len(self.ops) == 1

    def apply(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """f(a, b) at the insertion point."""
        mapping = {self.element: a, self.accumulator: b}
        for op in self.ops:
            clone(op, mapping)
        return mapping[self.result]

    def identity(self) -> ir.Value:
        """The neutral element as a constant."""
        return neutral_constant(self.result.type, self.neutral)


def fold_values(
    owners: list[Combiner], lanes: int, values: list[Callable[[ir.Value], ir.Value]], carried: list[ir.Value]
) -> list[ir.Value]:
    """Fold points into accumulators, as a tree where that is allowed. `values` are those of `Payload.at`,
    `lanes` to a point; the accumulators of a combiner are its lanes, and `owners` has the combiner of
    each."""
    folded: list[ir.Value] = []
    for number, (combiner, total) in enumerate(zip(owners, carried, strict=True)):
        tree = [value(combiner.element) for value in values[number % lanes :: lanes]]
        while combiner.takes_pairs and len(tree) > 1:
            pairs = [combiner.apply(tree[k], tree[k + 1]) for k in range(0, len(tree) - 1, 2)]
            tree = pairs + tree[len(tree) & ~1 :]
        for part in tree:
            total = combiner.apply(part, total)
        folded.append(total)
    return folded


def sums_of(owners: list[Combiner]) -> list[int]:
    """The numbers of the accumulators that are sums of floats."""
    return [k for k, combiner in enumerate(owners) if combiner.is_sum]


def combiner_of(generic: GenericOp, out: int) -> Combiner | None:
    """The combiner of an out that a reduction accumulates into, None when there is none known."""
    accumulator = generic.block.arguments[generic.n_inputs + out]
    result = generic.yielded[out]
    op = defining_op(result)
    if op is None or op.block != generic.block:
        return None
    found = _single(op, accumulator, result) or _selected(op, accumulator, result)
    return found if found is not None and _only_used_by(accumulator, found) and _only_yielded(found) else None


def _single(op: ir.Operation, accumulator: ir.Value, result: ir.Value) -> Combiner | None:
    if op.name not in NEUTRAL or accumulator not in list(op.operands):
        return None
    a, b = op.operands
    if a == b:
        return None
    return Combiner((op,), b if a == accumulator else a, accumulator, result, NEUTRAL[op.name])


def _selected(op: ir.Operation, accumulator: ir.Value, result: ir.Value) -> Combiner | None:
    """`select(cmpf(x > acc), x, acc)`, the maximum that leaves NaN out, and its mirror images. Those
    that take NaN in are no combiners: they forget it, and what was before it, with the next element."""
    if op.name != "arith.select":
        return None
    compare = defining_op(op.operands[0])
    chosen = list(op.operands)[1:]
    if compare is None or compare.name != "arith.cmpf" or compare.block != op.block or accumulator not in chosen:
        return None
    if set(compare.operands) != set(chosen) or chosen[0] == chosen[1]:
        return None
    predicate = compare.attributes["predicate"].value
    if predicate not in _GREATER + _LESS or chosen[predicate < _UNORDERED] != accumulator:
        return None
    maximum = (predicate in _GREATER) == (compare.operands[0] == chosen[0])
    element = chosen[0] if chosen[1] == accumulator else chosen[1]
    return Combiner((compare, op), element, accumulator, result, float("-inf") if maximum else float("inf"))


def _only_used_by(accumulator: ir.Value, combiner: Combiner) -> bool:
    return all(any(use.owner.operation == op for op in combiner.ops) for use in accumulator.uses)


def _only_yielded(combiner: Combiner) -> bool:
    """Whether nothing but the combiner and the terminator use what it computes."""
    inner = [op.results[0] for op in combiner.ops]
    for value in inner:
        for use in value.uses:
            user = use.owner.operation
            if user.name != "linalg.yield" and not any(user == op for op in combiner.ops):
                return False
    return len(list(combiner.result.uses)) == 1


def folds(name: str) -> tuple[Callable[[ir.Value, ir.Value], ir.Value], float | str]:
    """What combines two indices, and the neutral element, of an `flow.FOLD`; a search is the smallest unsigned
    index."""
    known: dict[str, tuple[Callable[[ir.Value, ir.Value], ir.Value], float | str]] = {
        "search": (arith.minui, "ones"),
        "addi": (arith.addi, 0),
        "add_unsigned": (build.add_unsigned, 0),
        "maxsi": (arith.maxsi, "lowest"),
    }
    return known[name]
