"""Reductions over the rows of one component, in the body of a forall over components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.buffers import defining_op, is_buffer, is_constant, region, root, starts_and_sizes
from ragged_dialect.lowering.emit import Mixed
from ragged_dialect.lowering.gpu.combiner import combiner_of
from ragged_dialect.lowering.gpu.generic_op import GenericOp


@dataclass(frozen=True)
class Follower:
    """A `linalg.generic` that makes of the outs of a reduction, element by element, row `component` of
    other buffers. `loops` has the reduction's loop for each of its own."""

    op: Any
    loops: dict[int, int]


@dataclass(frozen=True)
class RowReduction:
    """A `linalg.generic` that reduces the rows of a component into row `component` of its outs.

    `loop` is the one over rows. `rows` has, for every operand with rows, the dim of its view along
    which they lie. `extents` are those of the parallel loops, ints or values from outside of the
    forall. `inits` are scalars that take the place of an out's element. `followers` come after it for
    every component."""

    op: Any
    loop: int
    rows: dict[int, int]
    extents: dict[int, Mixed]
    inits: dict[int, Any]
    followers: tuple[Follower, ...] = ()


class ReductionMatcher:
    """Matches one generic. `length` is the op that computes the component's number of rows."""

    def __init__(self, body: Any, generic: GenericOp, inits: dict[int, Any]) -> None:
        self.body = body
        self.generic = generic
        self.inits = inits
        self.length: Any = None

    def match(self, written: set[Any]) -> RowReduction | None:
        """The generic as a reduction of rows."""
        generic = self.generic
        if len(generic.reductions) != 1:
            return None
        loop = generic.reductions[0]
        rows = {k: self._rows_of(k, loop) for k in range(generic.n_inputs) if loop in generic.loops_of(k)}
        extents = {d: self._extent(d) for d in range(generic.rank) if generic.parallel[d]}
        found = {k: dim for k, dim in rows.items() if dim is not None}
        sizes = {d: size for d, size in extents.items() if size is not None}
        if not found or len(found) < len(rows) or len(sizes) < len(extents):
            return None
        if not all(self._is_accumulated(out) for out in range(len(generic.outs))):
            return None
        if any(is_buffer(x) and root(x) in written for x in generic.inputs):
            return None
        if not all(is_free(op, loop, written) for op in generic.payload):
            return None
        return RowReduction(generic.op, loop, found, sizes, self.inits)

    def _rows_of(self, k: int, loop: int) -> int | None:
        """The dim of operand k along which a component's rows lie: it must be a slice, from `low` on, of
        a buffer from outside."""
        x, results = self.generic.operands[k], self.generic.maps[k].results
        dims = [d for d, e in enumerate(results) if isinstance(e, ir.AffineDimExpr) and e.position == loop]
        op = defining_op(x) if is_buffer(x) else None
        if len(dims) != 1 or not all(isinstance(e, ir.AffineDimExpr) for e in results) or op is None:
            return None
        if op.name != "memref.subview" or not is_outside(self.body, op.operands[0]):
            return None
        starts, sizes = starts_and_sizes(op)
        others = [start for d, start in enumerate(starts) if d != dims[0]]
        if len(starts) != len(results) or any(s != 1 for s in op.attributes["static_strides"]):
            return None  # an axis dropped, or rows apart
        if any(isinstance(start, ir.Value) and not is_outside(self.body, start) for start in others):
            return None
        return dims[0] if self._is_length(sizes[dims[0]], starts[dims[0]]) else None

    def _is_length(self, size: Mixed, start: Mixed) -> bool:
        """Whether a slice has the component's rows: the same for all operands."""
        op = defining_op(size) if isinstance(size, ir.Value) else None
        if op is None or op.name != "arith.subi" or op.operands[1] != start:
            return False
        if self.length is None and self._are_offsets(start, op.operands[0]):
            self.length = op
        return self.length is not None and self.length == op

    def _are_offsets(self, low: Any, high: Any) -> bool:
        """Whether two indices are what a vector from outside has at the component and after it."""
        first, second = _loaded(low), _loaded(high)
        if first is None or second is None or first[0] != second[0] or not is_outside(self.body, first[0]):
            return False
        after = defining_op(second[1])
        if first[1] != self.body.arguments[0] or after is None or after.name != "arith.addi":
            return False
        steps = [x for x in after.operands if is_constant(x) and defining_op(x).attributes["value"].value == 1]
        return first[1] in list(after.operands) and len(steps) == 1

    def _extent(self, loop: int) -> Mixed | None:
        """The extent of a parallel loop, as far as it is known outside."""
        k, dim = self.generic.place(loop)
        static = self.generic.static_extent(loop)
        op = defining_op(self.generic.operands[k])
        if static is not None or op is None or op.name != "memref.subview":
            return static
        sizes = starts_and_sizes(op)[1]
        if len(sizes) != len(op.result.type.shape):
            return None
        return sizes[dim] if is_outside(self.body, sizes[dim]) else None

    def _is_accumulated(self, out: int) -> bool:
        """Whether an out is the component's row, and accumulated into by a known combiner."""
        k = self.generic.n_inputs + out
        results = self.generic.maps[k].results
        loops = [e.position for e in results if isinstance(e, ir.AffineDimExpr)]
        parallel = [d for d in range(self.generic.rank) if self.generic.parallel[d]]
        if len(loops) < len(results) or sorted(loops) != parallel or combiner_of(self.generic, out) is None:
            return False
        return is_row_of_component(self.generic.operands[k], self.body)


def _loaded(x: Any) -> tuple[Any, Any] | None:
    """Vector and place of an index that is loaded from a vector."""
    op = defining_op(x)
    if op is not None and op.name == "arith.index_cast":
        op = defining_op(op.operands[0])
    if op is None or op.name != "memref.load" or len(op.operands) != 2:
        return None
    return op.operands[0], op.operands[1]


def is_outside(body: Any, x: Any) -> bool:
    """Whether a value is defined outside of a forall's body."""
    block = x.owner if isinstance(x.owner, ir.Block) else x.owner.operation.block
    return block != body


def is_row_of_component(view: Any, body: Any) -> bool:
    """Whether a view is of the entry of a buffer from outside that is numbered as the component."""
    covered = region(view)
    if covered is None or not is_outside(body, covered[0]):
        return False
    return any(
        isinstance(start, ir.Value) and start == body.arguments[0] and isinstance(size, int) and size == 1
        for start, size in covered[1]
    )


def is_free(op: Any, loop: int | None, written: set[Any]) -> bool:
    """Whether an op of a payload, with what is in it, neither asks for the index of a loop nor reads
    what the body writes."""
    free = True

    def visit(inner: Any) -> Any:
        nonlocal free
        if inner.name == "linalg.index":
            free = free and inner.attributes["dim"].value != loop
        free = free and not any(is_buffer(x) and root(x) in written for x in inner.operands)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return free


def host_rows(reduction: RowReduction) -> list[tuple[Any, int]]:
    """The buffers outside of the forall whose rows are reduced, each with the dim of the rows."""
    operands = list(reduction.op.operands)
    return [(defining_op(operands[k]).operands[0], dim) for k, dim in reduction.rows.items()]
