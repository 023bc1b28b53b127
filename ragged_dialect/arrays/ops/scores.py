"""Functions of users that make scores of attention: what they do with numbers becomes a region of the op.

A function is traced with numbers that stand for a score and for where it is; the ops that these reach are made again
there, on scalars. Indices cannot be checked there. Their bounds are computed before, of those of the numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.ops.elementwise import astype
from ragged_dialect.arrays.ops.ranges import ARITHMETIC, EXTENT_BITS, FALSE, UNKNOWN, Bound, Range, magnitude
from ragged_dialect.arrays.tracing import elements
from ragged_dialect.arrays.tracing.building import as_tensor
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, element_type
from ragged_dialect.errors import ArgumentError, TraceError
from ragged_dialect.generic import iterator_kinds
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap, clone, inlined
from ragged_dialect.ir.match import bit_width, constant_int, defining_op, element_of, made_by
from ragged_dialect.ir.walk import made_with, ops_in
from ragged_dialect.types import dense_type

ScoreFunction = Callable[..., ArrayLike]
"""Makes a score of one and of the numbers of component, head, query and key."""


_GENERIC = "linalg.generic"
_VIEWED = dict[ir.Value, tuple[ir.Value, list[ir.Value]]]
"""The tables that parts are of, and the indices of these."""


class TracedScore:
    """A function of a user. `dtype` is that of scores, `extents` what component, head, query and key are below."""

    def __init__(self, function: ScoreFunction, trace: Trace, dtype: DType, extents: Sequence[Mixed]) -> None:
        self._trace, self._op, self._dtype = trace, trace.op, dtype
        self._is_empty = any(isinstance(n, int) and n < 1 for n in extents)
        self._empty = [build.less(n, 1) for n in extents if not isinstance(n, int)]
        block = ir.InsertionPoint.current.block
        before, kind = len(list(block.operations)), element_type(dtype)
        self._given = [build.constant(kind, 0.0), *(build.constant(build.index_type(), 0) for _ in extents)]
        self._ranges = {x: Range(Bound.of(0), _last(n)) for x, n in zip(self._given[1:], extents, strict=True)}
        score = Tensor(trace, tensor.from_elements(dense_type((), kind), self._given[:1]), dtype, ())
        numbers = [
            Tensor(trace, arith.index_cast(build.i64(), x), elements.INT64, (), weak=True) for x in self._given[1:]
        ]
        made = self._called(function, score, numbers)
        self._result = made.scalar
        self._ops = made_with(self._given, list(block.operations)[before:])
        for op in self._ops:
            self._bound(op)

    def _called(self, function: ScoreFunction, score: Tensor, numbers: list[Tensor]) -> Tensor:
        """What a function makes, as a number of the dtype of scores."""
        trace = self._trace
        try:
            inspect.signature(function).bind(score, *numbers)
        except TypeError as error:
            text = f"{trace.op}: expected a score of five arguments, got one that takes others: {error}"
            raise ArgumentError(text) from None
        except ValueError:  # functions of C have no signature
            pass
        with trace.changed(inside_operation=False):
            found = as_tensor(trace, function(score, *numbers))
        if found.axes or elements.kind(found.dtype) not in "fi":
            raise ArgumentError(f"{trace.op}: expected a score that is a number, got {found.described}")
        return found if found.dtype == self._dtype and not found.weak else astype(found, dtype=self._dtype)

    # Bounds of indices ----------------------------------------------------------------------------------

    def _bound(self, op: ir.Operation) -> None:
        """Find the bounds of what an op makes; of a check, check them."""
        if op.name == "ragged.assert_valid":
            self._check(op)
        elif len(op.results) == 1:
            with ir.InsertionPoint(op):
                self._ranges[op.results[0]] = self._of_body(op) if op.name == _GENERIC else self._made_range(op)

    def _of_body(self, op: ir.Operation) -> Range:
        """That of what a generic op makes of numbers."""
        block = op.regions[0].blocks[0]
        *ops, last = (inner.operation for inner in block.operations)
        ins = list(op.operands)[: -len(op.results)]  # nothing is known of outs, which have no numbers yet
        self._ranges.update(dict.fromkeys(block.arguments, UNKNOWN))
        self._ranges.update(zip(block.arguments, map(self._range, ins), strict=False))
        for inner in (op for op in ops if op.name != "arith.constant"):
            self._ranges[inner.results[0]] = self._made_range(inner)
        return self._range(last.operands[0])

    def _check(self, op: ir.Operation) -> None:
        at, extent = op.operands
        found = self._range(at)
        kind, name, level = (op.attributes[key].value for key in ("kind", "op", "level"))
        if kind not in ("position", "index") or any(extent in made.results for made in self._ops):
            wanted = "expected a score that indexes the first dims of dense arrays, one after the other"
            raise ArgumentError(f"{self._trace.op}: {wanted}, got other indices")
        if found.low is None or found.high is None:
            text = f"{self._trace.op}: expected an index with known bounds in a score, got one without (use rg.clip)"
            raise ArgumentError(text)
        with ir.InsertionPoint(op):
            for bound in () if self._is_empty else (found.low, found.high):
                inside, below = build.value(bound.value), extent
                for empty in self._empty:  # nothing is read then
                    inside, below = (arith.select(empty, build.value(k), x) for k, x in enumerate((inside, below)))
                builders.assert_valid([inside, below], kind, name, level)

    def _range(self, x: ir.Value) -> Range:
        if x not in self._ranges:  # which has what stands for numbers of scores: constants themselves
            self._ranges[x] = self._range_around(x)
        return self._ranges[x]

    def _range_around(self, x: ir.Value) -> Range:
        """That of what is no part of the score."""
        number = constant_int(x)
        if number is not None:
            return Range.of(number, number)
        compared = made_by(x, "arith.cmpi")  # of constants, as divisors are
        if compared is not None:
            return self._made_range(compared)
        is_number = not isinstance(x.type, ir.RankedTensorType) or not x.type.rank
        if _width(x) != _WIDE or not is_number:
            return UNKNOWN
        known = build.to_index(tensor.extract(x, []) if isinstance(x.type, ir.RankedTensorType) else x)
        if made_by(x, "tensor.dim") is None:  # others are checked to have as few bits
            most = 2 ** (EXTENT_BITS - 1)
            inside = [build.value(build.add(known, most)), build.value(2 * most)]
            builders.assert_valid(inside, "index", self._trace.op, 0)
        return Range(*[Bound(known, EXTENT_BITS)] * 2)

    def _made_range(self, op: ir.Operation) -> Range:
        of = [self._range(x) for x in op.operands]
        if op.name == "arith.select":
            return of[2] if of[0].is_false else self._chosen(op, of)
        if op.name == "arith.cmpi":
            return FALSE if _compares(op, "slt") and of[0].is_positive and of[1].is_false else UNKNOWN
        if op.name in _CASTS and len(of) == 1:
            return of[0] if _width(op.results[0]) >= _width(op.operands[0]) else UNKNOWN
        if op.name not in _OF_ALL_WIDTHS and not all(_width(x) in (1, _WIDE) for x in op.results):
            return UNKNOWN  # shorter integers wrap around
        if op.name == "math.absi":
            return magnitude(of[0])
        return ARITHMETIC[op.name](*of) if op.name in ARITHMETIC else UNKNOWN

    def _chosen(self, op: ir.Operation, of: list[Range]) -> Range:
        """That of a choice; of what is added to where it is below 0 as such."""
        added, x = made_by(op.operands[1], "arith.addi"), op.operands[2]
        if added is None or x != added.operands[0] or not self._is_below_zero(op.operands[0], x):
            return of[1].either(of[2])
        made = of[2].wrapped(self._range(added.operands[1]))
        return made if made.bits < bit_width(x.type) else UNKNOWN

    def _is_below_zero(self, condition: ir.Value, x: ir.Value) -> bool:
        """Whether a condition is that a number is below 0, as remainders of Python ask it too."""
        op = defining_op(condition)
        if op is None:
            return False
        if op.name == "arith.cmpi":
            return op.operands[0] == x and constant_int(op.operands[1]) == 0 and _compares(op, "slt")
        sides = [(op.operands[k], op.operands[1 - k]) for k in range(2)] if len(op.operands) == 2 else []
        if op.name == "arith.xori":
            return any(self._is_below_zero(a, x) and self._range(b).is_false for a, b in sides)
        if op.name == "arith.andi":
            return any(self._is_below_zero(a, x) and self._is_unequal_to_zero(b, x) for a, b in sides)
        return False

    def _is_unequal_to_zero(self, condition: ir.Value, x: ir.Value) -> bool:
        """Whether a condition is that a number, or a constant that is not 0, is not 0."""
        op = made_by(condition, "arith.cmpi")
        if op is None or not _compares(op, "ne") or constant_int(op.operands[1]) != 0:
            return False
        return op.operands[0] == x or constant_int(op.operands[0]) not in (None, 0)

    def _refuse(self, op: ir.Operation) -> None:
        wanted = "functions of numbers and elements of dense arrays"
        raise ArgumentError(f"{self._trace.op}: expected a score of {wanted}, got '{op.name}' (use a mask)")

    # The region -----------------------------------------------------------------------------------------

    def __call__(self, score: ir.Value, numbers: Sequence[ir.Value]) -> ir.Value:
        """What the function makes of others, at the insertion point; its own ops go once all is traced."""
        known: ValueMap = dict(zip(self._given, [score, *numbers], strict=True))
        views: _VIEWED = {}
        for op in self._ops:
            self._make(op, known, views)
        result = known.get(self._result, self._result)
        for op in [op for op in self._ops if not op.results]:
            self._ops.remove(op)
            op.erase()
        self._trace.ending.append(self._end)
        return result

    def _end(self) -> None:
        """Erase what the function made of the numbers that stand for others. TraceError where somebody has kept some
        of that."""
        inside = {inner for op in self._ops for inner in ops_in(op)}
        for op in self._ops:
            if any(use.owner.operation not in inside for x in op.results for use in x.uses):
                text = f"{self._op}: expected what a score is made of in its function, got it outside of that"
                raise TraceError(text)
        for op in reversed(self._ops):
            op.erase()

    def _make(self, op: ir.Operation, known: ValueMap, views: _VIEWED) -> None:
        """An op on scalars; `known` has those of numbers and of tensors of rank 0."""
        if op.name == "ragged.assert_valid":
            return
        if op.name == _GENERIC and op.results[0].type.rank == 0:
            looped = [op] if iterator_kinds(op) else [x for x in ops_in(op) if x != op and len(x.regions)]
            for inner in looped:  # of a row of a table, or to find a place
                self._refuse(inner)
            ins = [self._element(x, known, views) for x in list(op.operands)[: -len(op.results)]]
            outs = [build.constant(x.type.element_type, 0) for x in op.results]
            found = inlined(op.regions[0].blocks[0], [*ins, *outs], known)
            known.update(zip(op.results, found, strict=True))
        elif op.name == "ragged.select" and op.attributes["dim"].value == 0:
            table, before = views.get(op.operands[0], (op.operands[0], []))
            if table.type.encoding is not None:
                self._refuse(op)
            views[op.results[0]] = (table, [*before, known.get(op.operands[1], op.operands[1])])
        elif op.name == "tensor.extract" and len(op.operands) == 1:
            known[op.results[0]] = self._element(op.operands[0], known, views)
        elif op.name == "tensor.from_elements":
            known[op.results[0]] = known.get(op.operands[0], op.operands[0])
        elif op.name == "tensor.dim" and op.operands[0] in views:
            table, before = views[op.operands[0]]
            dim = build.add(build.to_index(op.operands[1]), len(before))
            known[op.results[0]] = tensor.dim(table, build.value(dim))
        elif op.name.startswith(("arith.", "math.")):
            clone(op, known)
        else:
            self._refuse(op)

    def _element(self, x: ir.Value, known: ValueMap, views: _VIEWED) -> ir.Value:
        """A number, or that of a tensor of rank 0."""
        if not isinstance(x.type, ir.RankedTensorType):
            return known.get(x, x)
        if x in views:
            return tensor.extract(*views[x])
        return known[x] if x in known else tensor.extract(x, [])


_OF_ALL_WIDTHS = ("arith.maxsi", "arith.minsi", "arith.remsi")
"""What does not wrap around."""

_CASTS = ("arith.index_cast", "arith.extsi", "tensor.from_elements", "tensor.extract")
"""What keeps a number, where its result is as wide; of elements of tables nothing is known."""


_WIDE = 64
"""Bits of the integers that bounds are computed of, and of indices."""


def _width(x: ir.Value) -> int:
    """Bits of a number, or of the elements of a tensor; 0 of what is no integer."""
    element = element_of(x.type)
    return bit_width(element) if isinstance(element, (ir.IntegerType, ir.IndexType)) else 0


def _last(extent: Mixed) -> Bound:
    """The last number below an extent."""
    return Bound.of(extent - 1) if isinstance(extent, int) else Bound(build.sub(extent, 1), EXTENT_BITS)


def _compares(op: ir.Operation, predicate: str) -> bool:
    """Whether a comparison is of a kind."""
    return arith.CmpIPredicate(op.attributes["predicate"].value) == getattr(arith.CmpIPredicate, predicate)
