"""Reductions over the rows of one component, in the body of a forall over components."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.buffers.subviews import is_buffer, root
from ragged_dialect.lowering.gpu.kernel.combiner import combiner_of
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.segmented.component_rows import RowMatcher, RowWork, is_free, is_row_of_component


@dataclass(frozen=True)
class Follower:
    """A `linalg.generic` that makes of the outs of a reduction, element by element, row `component` of
    other buffers. `loops` has the reduction's loop for each of its own."""

    op: ir.Operation
    loops: dict[int, int]


@dataclass(frozen=True)
class RowReduction(RowWork):
    """One that reduces the rows of a component into row `component` of its outs. `inits` are scalars that take the
    place of an out's element. `followers` come after it for every component."""

    inits: dict[int, ir.Value]
    followers: tuple[Follower, ...] = ()


class ReductionMatcher(RowMatcher):
    """Matches one reduction; `inits` as in `RowReduction`."""

    def __init__(self, body: ir.Block, generic: GenericOp, inits: dict[int, ir.Value]) -> None:
        super().__init__(body, generic)
        self.inits = inits

    def match(self, written: set[ir.Value]) -> RowReduction | None:
        """The generic as a reduction of rows."""
        generic = self.generic
        if len(generic.reductions) != 1:
            return None
        loop = generic.reductions[0]
        rows = {k: self.rows_of(k, loop) for k in range(generic.n_inputs) if loop in generic.loops_of(k)}
        extents = {d: self.extent(d) for d in range(generic.rank) if generic.parallel[d]}
        found = {k: dim for k, dim in rows.items() if dim is not None}
        sizes = {d: size for d, size in extents.items() if size is not None}
        if not found or len(found) < len(rows) or len(sizes) < len(extents):
            return None
        if not all(self._is_accumulated(out) for out in range(len(generic.outs))):
            return None
        if any(is_buffer(x) and root(x) in written for x in generic.inputs):
            return None
        if not all(is_free(op, written) for op in generic.payload):
            return None
        return RowReduction(generic.op, loop, found, sizes, self.inits)

    def _is_accumulated(self, out: int) -> bool:
        """Whether an out is the component's row, and accumulated into by a known combiner."""
        k = self.generic.n_inputs + out
        results = self.generic.maps[k].results
        loops = [e.position for e in results if isinstance(e, ir.AffineDimExpr)]
        parallel = [d for d in range(self.generic.rank) if self.generic.parallel[d]]
        if len(loops) < len(results) or sorted(loops) != parallel or combiner_of(self.generic, out) is None:
            return False
        return is_row_of_component(self.generic.operands[k], self.body)
