"""Rules of the structure ops: views on parts, and the copies of concat and compact."""

from __future__ import annotations

from typing import Any

from ragged_dialect.layout import RAGGED
from ragged_dialect.lowering import emit, vectors
from ragged_dialect.lowering.context import Lowering
from ragged_dialect.lowering.emit import Mixed
from ragged_dialect.lowering.making import contiguous_like, copy_into
from ragged_dialect.lowering.merge_views import merge_parts
from ragged_dialect.lowering.partition_views import partition_parts
from ragged_dialect.lowering.parts import Parts
from ragged_dialect.lowering.rules.compute import typed
from ragged_dialect.lowering.selection import select_parts, slice_parts
from ragged_dialect.lowering.views import split_parts
from ragged_dialect.ops.structure import partition_count
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import shape_of, storage_type


def _dim(op: Any) -> int:
    return op.attributes["dim"].value


def _bind(ctx: Lowering, op: Any, parts: Parts) -> None:
    ctx.bind(op.results[0], typed(parts, op.results[0].type))


def lower_partition(ctx: Lowering, op: Any) -> None:
    """ragged.partition."""
    lengths = "lengths" in op.attributes
    count = partition_count(shape_of(op.operands[1].type), lengths)
    parts = partition_parts(ctx.parts(op.operands[0]), _dim(op), op.operands[1], count, lengths)
    _bind(ctx, op, parts)


def lower_merge(ctx: Lowering, op: Any) -> None:
    """ragged.merge."""
    _bind(ctx, op, merge_parts(ctx.parts(op.operands[0]), _dim(op)))


def lower_split(ctx: Lowering, op: Any) -> None:
    """ragged.split."""
    _bind(ctx, op, split_parts(ctx.parts(op.operands[0]), _dim(op), op.attributes["factor"].value))


def lower_select(ctx: Lowering, op: Any) -> None:
    """ragged.select."""
    _bind(ctx, op, select_parts(ctx.parts(op.operands[0]), _dim(op), emit.to_index(op.operands[1])))


def lower_slice(ctx: Lowering, op: Any) -> None:
    """ragged.slice."""
    _bind(ctx, op, slice_parts(ctx.parts(op.operands[0]), _dim(op), op.operands[1], op.operands[2]))


def lower_compact(ctx: Lowering, op: Any) -> None:
    """ragged.compact: a copy into storage of its own, whose windows are contiguous levels."""
    _bind(ctx, op, compacted(ctx, ctx.parts(op.operands[0])))


def compacted(ctx: Lowering, source: Parts) -> Parts:
    """The value with every window made contiguous; itself when it has none."""
    if not source.layout.has_windows:
        return source
    made = copy_into(ctx, source, contiguous_like(ctx, source, source.element))
    found = dict(made.vectors)
    for dim, offsets in made.windows.items():
        del found["starts", dim], found["lengths", dim]
        found["offsets", dim] = offsets
    return Parts(ctx, source.shape.contiguous(), made.held, found, made.extents)


# concat -------------------------------------------------------------------------------------------


def lower_concat(ctx: Lowering, op: Any) -> None:
    """ragged.concat: every operand is copied into its window of the result."""
    dim = _dim(op)
    operands = [compacted(ctx, ctx.parts(v)) for v in op.operands]
    if len(operands) == 1:
        _bind(ctx, op, _copied(ctx, operands[0]))
        return
    if operands[0].layout.is_plain(dim):
        _bind(ctx, op, _concat_plain(ctx, operands, dim, shape_of(op.results[0].type)))
        return
    result = operands[0]
    for other in operands[1:]:
        result = _concat_two(ctx, result, other, dim)
    _bind(ctx, op, result)


def _copied(ctx: Lowering, source: Parts) -> Parts:
    if source.layout.is_dense:
        return source
    return copy_into(ctx, source, contiguous_like(ctx, source, source.element))


def _concat_plain(ctx: Lowering, operands: list[Parts], dim: int, shape: RaggedShape) -> Parts:
    """Along a dense storage axis: the storages side by side."""
    axis, _ = operands[0].layout.locate(dim)
    sizes = operands[0].storage_dims()
    total: Mixed = 0
    for operand in operands:
        total = emit.add(total, operand.storage_dim(axis))
    into = emit.empty([total if k == axis else s for k, s in enumerate(sizes)], operands[0].element)
    low: Mixed = 0
    for operand in operands:
        offsets = [low if k == axis else 0 for k in range(len(sizes))]
        into = emit.insert_slice(operand.values, into, offsets, operand.storage_dims())
        low = emit.add(low, operand.storage_dim(axis))
    made = operands[0].replace(emit.cast(into, storage_type(shape, operands[0].element)))
    return Parts(ctx, shape, made.held, made.vectors, made.extents)


def _concat_two(ctx: Lowering, a: Parts, b: Parts, dim: int) -> Parts:
    """Along a batch or ragged dim: walk the levels above it, and copy the runs of both in turn.
    The runs under one index tuple are contiguous, whatever levels are below."""
    axis, at = a.layout.locate(dim)
    shape = a.shape.concat([b.shape], dim)
    dims = a.layout.dims(axis)
    made = Parts(ctx, shape, None, {}, {})
    for d in range(shape.rank):
        if shape.has_extent_part(d):
            made.extents[d] = emit.add(a.extent(d), b.extent(d)) if d == dim else a.extent(d)
    for (kind, d), vector in a.vectors.items():
        if d not in dims or d < dim:
            made.vectors[kind, d] = vector
    for level in range(dim, dims.stop):
        if a.layout.letter(level) in RAGGED:
            made.vectors["offsets", level] = vectors.scan(_joined_lengths(a, b, axis, dim, level))
    sizes = a.storage_dims()
    sizes[axis] = emit.add(a.storage_dim(axis), b.storage_dim(axis))
    into = emit.cast(emit.empty(sizes, a.element), storage_type(shape, a.element))
    made.held = _copy_runs(a, b, axis, at, into)
    return made


def _joined_lengths(a: Parts, b: Parts, axis: int, dim: int, level: int) -> Any:
    """Lengths of a level at or below the joined dim, in the order of the result."""
    at = dim - a.layout.dims(axis)[0]
    if level == dim:
        la, lb = vectors.element_lengths(a, dim), vectors.element_lengths(b, dim)
        return vectors.generate(emit.dim(la, 0), lambda i: emit.add(emit.load(la, i), emit.load(lb, i)))
    la, lb = vectors.element_lengths(a, level), vectors.element_lengths(b, level)
    size = emit.add(emit.dim(la, 0), emit.dim(lb, 0))
    init = emit.cast(emit.empty([emit.value(size)], emit.i64()), la.type)

    def run(parts: Parts, fixed: list[Mixed]) -> tuple[Mixed, Mixed]:
        return _range_above(parts, axis, fixed, level)

    def copy(lengths: Any, parts: Parts, fixed: list[Mixed], state: list[Any]) -> list[Any]:
        low, count = run(parts, fixed)
        piece = emit.extract_slice(lengths, [low], [count], [True])
        return [emit.add(state[0], count), emit.insert_slice(piece, state[1], [state[0]], [count])]

    def body(fixed: list[Mixed], state: list[Any]) -> list[Any]:
        return copy(lb, b, fixed, copy(la, a, fixed, state))

    return vectors.walk(a, axis, at, [emit.value(0), init], body)[1]


def _range_above(parts: Parts, axis: int, fixed: list[Mixed], level: int) -> tuple[Mixed, Mixed]:
    """Parent positions (low, size) of a level under an index tuple of the first levels."""
    dims = parts.layout.dims(axis)
    low: Mixed = parts.position(axis, fixed) if fixed else 0
    size: Mixed = 1
    for d in range(dims[0] + len(fixed), level):
        if parts.layout.letter(d) == "d":
            extent = parts.extent(d)
            low, size = emit.mul(low, extent), emit.mul(size, extent)
        else:
            offsets = parts.vectors["offsets", d]
            start = emit.load(offsets, low)
            low, size = start, emit.sub(emit.load(offsets, emit.add(low, size)), start)
    return low, size


def _copy_runs(a: Parts, b: Parts, axis: int, at: int, into: Any) -> Any:
    sizes = a.storage_dims()
    va, vb = a.values, b.values

    def copy(source: Any, parts: Parts, fixed: list[Mixed], state: list[Any]) -> list[Any]:
        low, count = parts.axis_range(axis, fixed)
        lows = [low if k == axis else 0 for k in range(len(sizes))]
        extents = [count if k == axis else s for k, s in enumerate(sizes)]
        piece = emit.extract_slice(source, lows, extents, [True] * len(sizes))
        to = [state[0] if k == axis else 0 for k in range(len(sizes))]
        return [emit.add(state[0], count), emit.insert_slice(piece, state[1], to, extents)]

    def body(fixed: list[Mixed], state: list[Any]) -> list[Any]:
        return copy(vb, b, fixed, copy(va, a, fixed, state))

    return vectors.walk(a, axis, at, [emit.value(0), into], body)[1]


RULES = {
    "ragged.partition": lower_partition,
    "ragged.merge": lower_merge,
    "ragged.split": lower_split,
    "ragged.select": lower_select,
    "ragged.slice": lower_slice,
    "ragged.compact": lower_compact,
    "ragged.concat": lower_concat,
}
