"""`ragged.merge` on parts: one function per rule of `ragged_dialect.merging`."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.lowering.structure import walks
from ragged_dialect.lowering.structure.views import (
    append,
    collapse_storage,
    dropping,
    outer_count,
    positions,
    with_shape,
)
from ragged_dialect.merging import merge_rule
from ragged_dialect.shape import RaggedShape


def merge_parts(parts: Parts, dim: int) -> Parts:
    """`ragged.merge` by the rule of the pair."""
    return _MERGES[merge_rule(parts.shape, dim).name](parts, dim, parts.shape.merge(dim))


def _merge_batch(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    extents: dict[int, Mixed] = {}
    if shape.has_extent_part(dim):
        extents[dim] = build.mul(parts.extent(dim), parts.extent(dim + 1))
    return with_shape(parts, shape, dropping(dim + 1), {}, extents)


def _merge_components(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    total: dict[int, Mixed] = {}
    if shape.has_extent_part(dim):
        total[dim] = positions(parts, dim + 1)
    return with_shape(parts, shape, dropping(dim + 1), {}, total)


def _merge_rows(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    offsets = parts.vectors["offsets", dim + 1]
    inner = parts.extent(dim)
    divides = isinstance(inner, int) and inner > 0
    outer = build.divide(parts.parents(dim + 1), inner) if divides else outer_count(parts, dim)
    merged = vectors.generate(build.add(outer, 1), lambda i: shapes.load(offsets, build.mul(i, inner)))
    return with_shape(parts, shape, dropping(dim, dim + 1), {("offsets", dim): merged})


def _merge_levels(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    inner = parts.vectors["offsets", dim + 1]
    keep = dropping(dim, dim + 1)
    if parts.layout.letter(dim) == "r":
        merged = vectors.gather(inner, parts.vectors["offsets", dim])
        return with_shape(parts, shape, keep, {("offsets", dim): merged})
    starts, lengths = parts.vectors["starts", dim], parts.vectors["lengths", dim]
    count = shapes.dim(starts, 0)

    def length(i: ir.Value) -> Mixed:
        low = shapes.load(starts, i)
        high = shapes.load(inner, build.add(low, shapes.load(lengths, i)))
        return build.sub(high, shapes.load(inner, low))

    new = {("starts", dim): vectors.gather(inner, starts), ("lengths", dim): vectors.generate(count, length)}
    return with_shape(parts, shape, keep, new)


def _merge_dense(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    """The level below is dense: entries of the vectors of a ragged level count its indices, and what is an axis of its
    own goes into the one before."""
    axis, below = (parts.layout.locate(d)[0] for d in (dim, dim + 1))
    own = {key: vector for key, vector in parts.vectors.items() if key[1] == dim}
    factor = parts.extent(dim + 1) if own else 1
    new = {key: vectors.scale(vector, factor) for key, vector in own.items()}
    return with_shape(
        parts, shape, dropping(dim + 1), new, values=collapse_storage(parts, axis) if below > axis else None
    )


def _merge_untile(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    extents: dict[int, Mixed] = {}
    if shape.has_extent_part(dim) and shape.layout.letter(dim) == "d":
        axis, _ = parts.layout.locate(dim)
        extents[dim] = build.ceildiv(parts.storage_dim(axis), shape.factor(dim))
    return with_shape(parts, shape, dropping(dim + 1), {}, extents)


def _merge_tile_parts(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    """The tiles become components: first the outer level as a level of components, then the
    merge of the dim with it."""
    if parts.layout.is_plain(dim):
        return _tile_rows(parts, dim, shape)
    axis, at, letters = parts.layout.level(dim + 1)
    spelling = f"{letters[: at + 1]}r{letters[at + 2 :]}"
    layout = type(parts.layout)((*parts.layout.axes[:axis], spelling, *parts.layout.axes[axis + 1 :]))
    middle = RaggedShape(layout, tuple(None if k == dim + 2 else e for k, e in enumerate(parts.shape.shape)))
    stored, outer = _as_stored(parts, dim + 1)
    counts = walks.logical_lengths(stored, outer)
    new = {("offsets", dim + 1): vectors.scan(counts), ("offsets", dim + 2): _tile_offsets(stored, outer)}
    leveled = with_shape(parts, middle, lambda old: None if old in (dim + 1, dim + 2) else old, new)
    return merge_parts(leveled, dim)


def _as_stored(parts: Parts, dim: int) -> tuple[Parts, int]:
    """Parts whose components of a level are in the order of storage, and that level: where windows above take some of
    them, in an order of their own, all levels above are one that takes each."""
    axis, at, letters = parts.layout.level(dim)
    if "w" not in letters[:at]:
        return parts, dim
    first = parts.layout.dims(axis)[0]
    layout = type(parts.layout)((*parts.layout.axes[:axis], f"d{letters[at:]}", *parts.layout.axes[axis + 1 :]))
    extents = parts.shape.shape
    shape = RaggedShape(layout, (*extents[:first], None, *extents[dim:]))

    def moved(old: int) -> int | None:
        return old if old < first else None if old < dim else old - dim + first + 1

    return with_shape(parts, shape, moved, {}, {first: parts.parents(dim)}), first + 1


def _tile_offsets(parts: Parts, outer: int) -> ir.Value:
    """Starts of all tiles of a split ragged level, the total at the end."""
    axis, at = parts.layout.locate(outer)
    first = parts.layout.dims(axis)[0]
    starts = walks.per_tuple(parts, axis, at + 1, lambda fixed: parts.axis_range(axis, fixed)[0])
    end = positions(parts, first + at)
    return append(starts, end)


def _tile_rows(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    """Rows of a dense dim times the tiles of the next: `d|dt` to components."""
    axis, _ = parts.layout.locate(dim)
    rows, length = parts.storage_dim(axis), parts.storage_dim(axis + 1)
    factor = parts.shape.factor(dim + 1)
    tiles = build.ceildiv(length, factor)
    count = build.mul(rows, tiles)

    def start(i: ir.Value) -> Mixed:
        row = build.minimum(rows, build.divide(i, build.maximum(tiles, 1)))
        tile = build.sub(i, build.mul(row, tiles))
        return build.add(build.mul(row, length), build.mul(tile, factor))

    offsets = vectors.generate(build.add(count, 1), start)
    values = collapse_storage(parts, axis)
    return with_shape(parts, shape, dropping(dim, dim + 1, dim + 2), {("offsets", dim + 1): offsets}, values=values)


_MERGES: dict[str, Callable[[Parts, int, RaggedShape], Parts]] = {
    "batch": _merge_batch,
    "plain": _merge_dense,
    "components": _merge_components,
    "rows": _merge_rows,
    "levels": _merge_levels,
    "scale": _merge_dense,
    "features": _merge_dense,
    "untile": _merge_untile,
    "tiles": _merge_untile,  # of tiles, which have no extent of their own
    "tile_parts": _merge_tile_parts,
}
