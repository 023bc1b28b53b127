"""Functions of users that make scores of attention: what they do with numbers becomes a region of the op.

A function is traced with numbers that stand for a score and for where it is; the ops that these reach are made again
there, on scalars. Indices cannot be checked there. Their bounds are computed before, of those of the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.ops.elementwise import astype
from ragged_dialect.arrays.tracing import elements
from ragged_dialect.arrays.tracing.function import as_tensor
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, element_type
from ragged_dialect.errors import ArgumentError
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap, clone, inlined
from ragged_dialect.ir.match import bit_width, constant_int
from ragged_dialect.ir.walk import captures
from ragged_dialect.types import dense_type

ScoreFunction = Callable[..., ArrayLike]
"""Makes a score of one and of the numbers of component, head, query and key."""


class Range(NamedTuple):
    """The least and the greatest that an integer can be, None where that is not known."""

    low: Mixed | None
    high: Mixed | None

    def and_(self, other: Range) -> Range:
        """What is in either."""
        return Range(_of(build.minimum, self.low, other.low), _of(build.maximum, self.high, other.high))

    @property
    def is_positive(self) -> bool:
        """Whether it is known to have no number below 0."""
        return isinstance(self.low, int) and self.low >= 0

    @property
    def is_false(self) -> bool:
        """Whether it is 0 alone: of a boolean, that it does not hold."""
        return self.low == 0 == self.high if isinstance(self.low, int) and isinstance(self.high, int) else False


_GENERIC = "linalg.generic"
_UNKNOWN = Range(None, None)
_FALSE = Range(0, 0)


def _of(function: Callable[[Mixed, Mixed], Mixed], a: Mixed | None, b: Mixed | None) -> Mixed | None:
    return None if a is None or b is None else function(a, b)


class TracedScore:
    """A function of a user. `dtype` is that of scores, `extents` what component, head, query and key are below."""

    def __init__(self, function: ScoreFunction, trace: Trace, dtype: DType, extents: Sequence[Mixed]) -> None:
        self._trace, self._dtype = trace, dtype
        self._is_empty = any(isinstance(n, int) and n < 1 for n in extents)
        self._empty = [build.less(n, 1) for n in extents if not isinstance(n, int)]
        block = ir.InsertionPoint.current.block
        before, kind = len(list(block.operations)), element_type(dtype)
        self._given = [build.constant(kind, 0.0), *(build.constant(build.index_type(), 0) for _ in extents)]
        self._ranges = {x: Range(0, build.sub(n, 1)) for x, n in zip(self._given[1:], extents, strict=True)}
        score = Tensor(trace, tensor.from_elements(dense_type((), kind), self._given[:1]), dtype, ())
        numbers = [
            Tensor(trace, arith.index_cast(build.i64(), x), elements.INT64, (), weak=True) for x in self._given[1:]
        ]
        made = self._called(function, score, numbers)
        self._result = made.scalar
        self._ops = self._reached([op.operation for op in block.operations][before:])
        for op in self._ops:
            self._bound(op)

    def _called(self, function: ScoreFunction, score: Tensor, numbers: list[Tensor]) -> Tensor:
        """What a function makes, as a number of the dtype of scores."""
        trace = self._trace
        before, trace.inside_operation = trace.inside_operation, False
        try:
            found = as_tensor(trace, function(score, *numbers))
        finally:
            trace.inside_operation = before
        if found.axes or elements.kind(found.dtype) not in "fi":
            raise ArgumentError(f"{trace.op}: expected a score that is a number, got {found.described}")
        return found if found.dtype == self._dtype and not found.weak else astype(found, dtype=self._dtype)

    def _reached(self, ops: list[ir.Operation]) -> list[ir.Operation]:
        """Those of some ops that are made of the numbers, in order."""
        known, found = set(self._given), list[ir.Operation]()
        for op in ops:
            if any(x in known for x in captures([op])):
                known.update(op.results)
                found.append(op)
        return found

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
        self._ranges.update(zip(block.arguments, map(self._range, op.operands), strict=True))
        for inner in ops:
            self._ranges[inner.results[0]] = self._made_range(inner)
        return self._range(last.operands[0])

    def _check(self, op: ir.Operation) -> None:
        at, extent = op.operands
        found = self._range(at)
        if op.attributes["kind"].value not in ("position", "index") or extent in self._ranges:
            self._refuse(op)
        if found.low is None or found.high is None:
            text = f"{self._trace.op}: expected an index with known bounds in a score, got one without (use rg.clip)"
            raise ArgumentError(text)
        kind, name, level = (op.attributes[key].value for key in ("kind", "op", "level"))
        with ir.InsertionPoint(op):
            for bound in () if self._is_empty else (found.low, found.high):
                inside, below = build.value(bound), extent
                for empty in self._empty:  # nothing is read then
                    inside, below = (arith.select(empty, build.value(k), x) for k, x in enumerate((inside, below)))
                builders.assert_valid([inside, below], kind, name, level)

    def _range(self, x: ir.Value) -> Range:
        number = constant_int(x)
        if x in self._ranges:
            return self._ranges[x]
        if number is not None:
            return Range(number, number)
        element = x.type.element_type if isinstance(x.type, ir.RankedTensorType) else x.type
        is_integer = isinstance(element, (ir.IntegerType, ir.IndexType)) and bit_width(element) > 1
        if not is_integer or (x.type != element and x.type.rank):
            return _UNKNOWN
        known = build.to_index(x if x.type == element else tensor.extract(x, []))
        return Range(known, known)

    def _made_range(self, op: ir.Operation) -> Range:
        of, name = [self._range(x) for x in op.operands], op.name.removeprefix("arith.")
        if name in ("index_cast", "extsi", "tensor.from_elements", "tensor.extract") and len(of) == 1:
            return of[0]
        if name == "addi":
            return Range(_of(build.add, of[0].low, of[1].low), _of(build.add, of[0].high, of[1].high))
        if name == "subi":
            return Range(_of(build.sub, of[0].low, of[1].high), _of(build.sub, of[0].high, of[1].low))
        if name == "muli":
            return _product(*of)
        if name in ("maxsi", "minsi"):
            return _bounded(*of, build.maximum if name == "maxsi" else build.minimum, name == "maxsi")
        if name == "math.absi":
            return _magnitude(of[0])
        if name in ("divsi", "remsi"):
            divisor = of[1].low if of[1].low == of[1].high else None
            if isinstance(divisor, int) and divisor > 0 and of[0].is_positive:
                if name == "remsi":
                    return Range(0, divisor - 1)
                return Range(0, None if of[0].high is None else build.divide(build.maximum(of[0].high, 0), divisor))
        if name == "cmpi":
            never = arith.CmpIPredicate(op.attributes["predicate"].value) == arith.CmpIPredicate.slt
            return _FALSE if never and of[0].is_positive and of[1] == _FALSE else _UNKNOWN
        if name == "andi" and any(x.is_false for x in of):
            return _FALSE
        if name == "xori" and all(x.is_false for x in of):
            return _FALSE
        if name == "select":
            return of[2] if of[0].is_false else self._chosen(op, of)
        return _UNKNOWN

    def _chosen(self, op: ir.Operation, of: list[Range]) -> Range:
        """That of a choice; of an index that counts from the end where it is below 0, as an index that does."""
        added, x = op.operands[1].owner, op.operands[2]
        is_wrapped = isinstance(added, ir.Operation | ir.OpView) and added.operation.name == "arith.addi"
        if not is_wrapped or added.operation.operands[0] != x or of[2].low is None or of[2].high is None:
            return of[1].and_(of[2])
        extent = self._range(added.operation.operands[1]).low
        below = _of(build.add, of[2].low, extent)
        return Range(_of(build.minimum, below, 0), build.maximum(of[2].high, 0))

    def _refuse(self, op: ir.Operation) -> None:
        wanted = "functions of numbers and elements of dense arrays"
        raise ArgumentError(f"{self._trace.op}: expected a score of {wanted}, got '{op.name}' (use a mask)")

    # The region -----------------------------------------------------------------------------------------

    def __call__(self, score: ir.Value, numbers: list[ir.Value]) -> ir.Value:
        """What the function makes of others, at the insertion point; its own ops go."""
        known: ValueMap = dict(zip(self._given, [score, *numbers], strict=True))
        views: dict[ir.Value, tuple[ir.Value, list[ir.Value]]] = {}
        for op in self._ops:
            self._make(op, known, views)
        result = known.get(self._result, self._result)
        for op in reversed(self._ops):
            op.erase()
        return result

    def _make(self, op: ir.Operation, known: ValueMap, views: dict[ir.Value, tuple[ir.Value, list[ir.Value]]]) -> None:
        """An op on scalars; `known` has those of numbers and of tensors of rank 0, `views` the tables that parts are of,
        with their indices."""
        if op.name == "ragged.assert_valid":
            return
        if op.name == _GENERIC and op.results[0].type.rank == 0:
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

    def _element(
        self, x: ir.Value, known: ValueMap, views: dict[ir.Value, tuple[ir.Value, list[ir.Value]]]
    ) -> ir.Value:
        """A number, or that of a tensor of rank 0."""
        if not isinstance(x.type, ir.RankedTensorType):
            return known.get(x, x)
        if x in views:
            return tensor.extract(*views[x])
        return known[x] if x in known else tensor.extract(x, [])


def _product(a: Range, b: Range) -> Range:
    corners = [_of(build.mul, x, y) for x in a for y in b]
    low = high = corners[0]
    for corner in corners[1:]:
        low, high = _of(build.minimum, low, corner), _of(build.maximum, high, corner)
    return Range(low, high)


def _bounded(a: Range, b: Range, choose: Callable[[Mixed, Mixed], Mixed], larger: bool) -> Range:
    """That of the larger or the smaller of two: one of them bounds it on that side."""

    def either(x: Mixed | None, y: Mixed | None) -> Mixed | None:
        return _of(choose, x, y) if x is not None and y is not None else x if y is None else y

    if larger:
        return Range(either(a.low, b.low), _of(choose, a.high, b.high))
    return Range(_of(choose, a.low, b.low), either(a.high, b.high))


def _magnitude(x: Range) -> Range:
    if x.low is None or x.high is None:
        return Range(0, None)
    return Range(0, build.maximum(x.high, build.sub(0, x.low)))
