"""Which ops have the rows of a component among their loops."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.generic import indexing_maps, iterator_kinds
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.buffers.subviews import extent_key, is_buffer, plain_dim, size_key


def is_cut(op: ir.Operation, length: ir.Value) -> bool:
    """Whether a flat op is cut into chunks of rows where it stands on the host."""
    return (op.name != "linalg.generic" or iterator_kinds(op)[0] == "parallel") and is_along(op, 0, length)


def is_along(op: ir.Operation, loop: int, length: ir.Value) -> bool:
    """Whether a loop of an op has as many iterations as a component has rows."""
    places = [(x, plain_dim(map_, loop)) for x, map_ in zip(op.operands, indexing_maps(op), strict=True)]
    return any(dim is not None and dim >= 0 and dim in dims_of(x, length) for x, dim in places)


def dims_of(x: ir.Value, length: Mixed) -> list[int]:
    """The dims of a buffer that rows are along."""
    return [k for k in range(x.type.rank) if extent_key(x, k) == size_key(length)] if is_buffer(x) else []
