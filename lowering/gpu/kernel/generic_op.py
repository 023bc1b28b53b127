"""A bufferized `linalg.generic`, taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragged_dialect._mlir import DYNAMIC, ir
from ragged_dialect.generic import indexing_maps, input_count, iterator_kinds
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.expressions import affine_value
from ragged_dialect.ir.match import body_ops, is_read, terminator
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.iteration import expr_uses
from ragged_dialect.lazy import cached_property
from ragged_dialect.lowering.buffers.subviews import extent, is_buffer, plain_dim


@dataclass(frozen=True)
class GenericOp:
    """Operands, maps, loops and payload of a `linalg.generic` on buffers."""

    op: ir.Operation

    @cached_property
    def operands(self) -> list[ir.Value]:
        """Inputs, then outs."""
        return list(self.op.operands)

    @cached_property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return input_count(self.op)

    @property
    def inputs(self) -> list[ir.Value]:
        """Input operands: buffers and scalars."""
        return self.operands[: self.n_inputs]

    @property
    def outs(self) -> list[ir.Value]:
        """Output buffers."""
        return self.operands[self.n_inputs :]

    @cached_property
    def maps(self) -> list[ir.AffineMap]:
        """The affine map of every operand."""
        return indexing_maps(self.op)

    @cached_property
    def parallel(self) -> list[bool]:
        """For every loop whether it is parallel."""
        return [kind == "parallel" for kind in iterator_kinds(self.op)]

    @property
    def rank(self) -> int:
        """Number of loops."""
        return len(self.parallel)

    @property
    def reductions(self) -> list[int]:
        """The reduction loops."""
        return [d for d, parallel in enumerate(self.parallel) if not parallel]

    @property
    def block(self) -> ir.Block:
        """The payload."""
        return self.op.regions[0].blocks[0]

    @cached_property
    def payload(self) -> list[ir.Operation]:
        """Ops of the payload without its terminator."""
        return body_ops(self.block)

    @cached_property
    def yielded(self) -> list[ir.Value]:
        """What the payload yields, one value per out."""
        return list(terminator(self.block).operands)

    @cached_property
    def loads(self) -> list[ir.Operation]:
        """The loads of the payload, which are at places of its own."""
        return find_ops(self.op, "memref.load")

    def is_read(self, k: int) -> bool:
        """Whether the payload uses the element of operand k."""
        return is_read(self.block.arguments[k])

    def loops_of(self, k: int) -> set[int]:
        """The loops that index operand k."""
        return {d for d in range(self.rank) if any(expr_uses(expr, d) for expr in self.maps[k].results)}

    def is_apart(self, k: int) -> bool:
        """Whether every iteration has an element of operand k of its own: every loop is a dim there."""
        exprs = self.maps[k].results
        return {e.position for e in exprs if isinstance(e, ir.AffineDimExpr)} == set(range(self.rank))

    def has_ranges(self, loop: int) -> bool:
        """Whether a range of a loop's iterations has a range of one dim of every operand that it indexes."""
        dims = [plain_dim(map_, loop) for map_ in self.maps]
        return all(d == -1 or (d is not None and is_buffer(x)) for d, x in zip(dims, self.operands, strict=True))

    def place(self, loop: int) -> tuple[int, int]:
        """Operand and dim that a loop indexes alone: its extent is the loop's. A static one when
        there is one."""
        found = [
            (k, dim)
            for k, map_ in enumerate(self.maps)
            for dim, expr in enumerate(map_.results)
            if isinstance(expr, ir.AffineDimExpr) and expr.position == loop
        ]
        return next((f for f in found if self.operands[f[0]].type.shape[f[1]] != DYNAMIC), found[0])

    def static_extent(self, loop: int) -> int | None:
        """Extent of a loop where it is static."""
        k, dim = self.place(loop)
        size = self.operands[k].type.shape[dim]
        return None if size == DYNAMIC else size

    def extent(self, loop: int) -> Mixed:
        """Extent of a loop at the insertion point."""
        k, dim = self.place(loop)
        return extent(self.operands[k], dim)

    def indices(self, k: int, point: Sequence[Mixed]) -> list[ir.Value]:
        """Where the element of operand k is at a point of the loops."""
        return [build.value(affine_value(e, point)) for e in self.maps[k].results]

    def scalar_type(self, k: int) -> ir.Type:
        """Element type of operand k."""
        x = self.operands[k]
        return x.type.element_type if is_buffer(x) else x.type


def generics_in(op: ir.Operation) -> list[GenericOp]:
    """The `linalg.generic` ops inside an op, in order."""
    return [GenericOp(inner) for inner in find_ops(op, "linalg.generic")]
