"""Rules of the structure ops: views on parts, and the copies of concat and compact."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build
from ragged_dialect.lowering.rules.compute import typed
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.lowering.structure.joining import concat_plain, concat_runs
from ragged_dialect.lowering.structure.making import contiguous_like, copy_into
from ragged_dialect.lowering.structure.merge_views import merge_parts
from ragged_dialect.lowering.structure.partition_views import partition_parts
from ragged_dialect.lowering.structure.selection import select_parts, slice_parts
from ragged_dialect.lowering.structure.views import split_parts
from ragged_dialect.ops.structure import partition_count
from ragged_dialect.types import shape_of


def _dim(op: ir.Operation) -> int:
    return op.attributes["dim"].value


def _bind(ctx: Lowering, op: ir.Operation, parts: Parts) -> None:
    ctx.bind(op.results[0], typed(parts, op.results[0].type))


def lower_partition(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.partition."""
    lengths = "lengths" in op.attributes
    count = partition_count(shape_of(op.operands[1].type), lengths)
    parts = partition_parts(ctx.parts(op.operands[0]), _dim(op), op.operands[1], count, lengths)
    _bind(ctx, op, parts)


def lower_compact(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.compact: a copy into storage of its own, whose windows are contiguous levels."""
    _bind(ctx, op, compacted(ctx.parts(op.operands[0])))


def compacted(source: Parts) -> Parts:
    """The value with every window made contiguous; itself when it has none."""
    if not source.layout.has_windows:
        return source
    made = copy_into(source, contiguous_like(source, source.element))
    found = dict(made.vectors)
    for dim, offsets in made.windows.items():
        del found["starts", dim], found["lengths", dim]
        found["offsets", dim] = offsets
    return Parts(source.ctx, source.shape.contiguous(), made.held, found, made.extents)


# concat -------------------------------------------------------------------------------------------


def lower_concat(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.concat: every operand is copied into its window of the result."""
    dim = _dim(op)
    if len(op.operands) == 1:
        _bind(ctx, op, _copied(ctx.parts(op.operands[0])))
        return
    operands = [_joinable(ctx.parts(v), dim) for v in op.operands]
    if operands[0].layout.is_plain(dim):
        _bind(ctx, op, concat_plain(ctx, operands, dim, shape_of(op.results[0].type)))
        return
    _bind(ctx, op, concat_runs(ctx, operands, dim))


def _joinable(source: Parts, dim: int) -> Parts:
    """Contiguous but for windows of a dim that is joined below a batch: they are read where they are."""
    return source if source.layout.has_windows_only(dim) else compacted(source)


def _copied(source: Parts) -> Parts:
    if source.layout.is_dense:
        return source
    if source.layout.has_windows:
        return compacted(source)
    return copy_into(source, contiguous_like(source, source.element))


_VIEWS: dict[str, Callable[[Parts, ir.Operation], Parts]] = {
    "ragged.merge": lambda x, op: merge_parts(x, _dim(op)),
    "ragged.split": lambda x, op: split_parts(x, _dim(op), op.attributes["factor"].value),
    "ragged.select": lambda x, op: select_parts(x, _dim(op), build.to_index(op.operands[1])),
    "ragged.slice": lambda x, op: slice_parts(x, _dim(op), op.operands[1], op.operands[2]),
}


def lower_view(ctx: Lowering, op: ir.Operation) -> None:
    """An op whose result has the storage of its operand."""
    _bind(ctx, op, _VIEWS[op.name](ctx.parts(op.operands[0]), op))


RULES = {
    **dict.fromkeys(_VIEWS, lower_view),
    "ragged.partition": lower_partition,
    "ragged.compact": lower_compact,
    "ragged.concat": lower_concat,
}
