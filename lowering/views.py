"""Structure ops on parts that move no values: merge, split, partition, select, slice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragged_dialect._mlir import ir, tensor
from ragged_dialect.layout import RAGGED
from ragged_dialect.lowering import emit, vectors
from ragged_dialect.lowering.emit import Mixed
from ragged_dialect.lowering.parts import Parts
from ragged_dialect.merging import merge_rule
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import dense_type


_VECTORS: dict[str, tuple[str, ...]] = {"d": (), "t": (), "r": ("offsets",), "w": ("starts", "lengths")}


def with_shape(
    parts: Parts,
    shape: RaggedShape,
    moved: Callable[[int], int | None],
    new: dict[tuple[str, int], Any],
    extents: dict[int, Mixed] | None = None,
    values: Any = None,
) -> Parts:
    """Parts of another shape: vectors at the dims that `moved` gives, None for those that go (as go
    those that the new letter has no use for), and the `new` ones; `extents` of dense levels by new dim, taken from the old ones where missing."""
    made: dict[tuple[str, int], Any] = {}
    windows: dict[int, Any] = {}
    for (kind, dim), vector in parts.vectors.items():
        to = moved(dim)
        if to is not None and kind in _VECTORS[shape.layout.letter(to)]:
            made[kind, to] = vector
            if dim in parts.windows:
                windows[to] = parts.windows[dim]
    made.update(new)
    known = dict(extents or {})
    for dim in range(parts.shape.rank):
        to = moved(dim)
        if to is not None and to not in known and parts.layout.letter(dim) == "d" and shape.layout.letter(to) == "d":
            if shape.has_extent_part(to):
                known[to] = parts.extent(dim)
    needed = {dim: known[dim] for dim in range(shape.rank) if shape.has_extent_part(dim)}
    return Parts(parts.ctx, shape, parts.held if values is None else values, made, needed, windows)


def shifted(dim: int, by: int) -> Callable[[int], int | None]:
    """Dims after `dim` move by an amount, those up to it stay."""
    return lambda old: old if old <= dim else old + by


def dropping(gone: int) -> Callable[[int], int | None]:
    """One dim goes, those after it move up."""
    return lambda old: None if old == gone else old - (old > gone)


# merge --------------------------------------------------------------------------------------------


def merge_parts(parts: Parts, dim: int) -> Parts:
    """`ragged.merge` by the rule of the pair."""
    return _MERGES[merge_rule(parts.shape, dim).name](parts, dim, parts.shape.merge(dim))


def _merge_batch(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    extents: dict[int, Mixed] = {}
    if shape.has_extent_part(dim):
        extents[dim] = emit.mul(parts.extent(dim), parts.extent(dim + 1))
    return with_shape(parts, shape, dropping(dim + 1), {}, extents)


def _collapse_storage(parts: Parts, axis: int) -> Any:
    """The values with storage axis `axis` and the next one made one."""
    rank = parts.layout.storage_rank
    groups = [[k] for k in range(axis)] + [[axis, axis + 1]] + [[k] for k in range(axis + 2, rank)]
    return collapse(parts.values, groups)


def collapse(x: Any, groups: list[list[int]]) -> Any:
    """`tensor.collapse_shape` by groups of axes."""
    sizes = x.type.shape
    dyn = ir.ShapedType.get_dynamic_size()
    shape: list[int | None] = []
    for group in groups:
        total: int | None = 1
        for k in group:
            total = None if total is None or sizes[k] == dyn else total * sizes[k]
        shape.append(total)
    i64 = ir.IntegerType.get_signless(64)
    reassociation = ir.ArrayAttr.get([ir.ArrayAttr.get([ir.IntegerAttr.get(i64, k) for k in g]) for g in groups])
    return tensor.collapse_shape(dense_type(tuple(shape), x.type.element_type), x, reassociation)


def expand(x: Any, groups: list[list[int]], sizes: list[Mixed]) -> Any:
    """`tensor.expand_shape` into groups of axes with the given sizes."""
    dynamic = [s for s in sizes if not isinstance(s, int)]
    dyn = ir.ShapedType.get_dynamic_size()
    i64 = ir.IntegerType.get_signless(64)
    reassociation = ir.ArrayAttr.get([ir.ArrayAttr.get([ir.IntegerAttr.get(i64, k) for k in g]) for g in groups])
    result = dense_type(emit.static(sizes), x.type.element_type)
    source = dense_type(
        tuple(
            None if any(not isinstance(sizes[k], int) for k in g) else _product([sizes[k] for k in g]) for g in groups
        ),
        x.type.element_type,
    )
    return ir.Operation.create(
        "tensor.expand_shape",
        results=[result],
        operands=[emit.cast(x, source), *dynamic],
        attributes={
            "reassociation": reassociation,
            "static_output_shape": ir.DenseI64ArrayAttr.get([s if isinstance(s, int) else dyn for s in sizes]),
        },
    ).result


def _product(sizes: list[Mixed]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _merge_plain(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    axis, _ = parts.layout.locate(dim)
    return with_shape(parts, shape, dropping(dim + 1), {}, values=_collapse_storage(parts, axis))


def _merge_components(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    total: dict[int, Mixed] = {}
    if shape.has_extent_part(dim):
        total[dim] = positions(parts, dim + 1)
    merged = with_shape(parts, shape, lambda old: None if old == dim + 1 else old - (old > dim), {}, total)
    return merged


def positions(parts: Parts, dim: int) -> Mixed:
    """Number of positions of a contiguous ragged level, from extents where they tell."""
    axis, at = parts.layout.locate(dim)
    letters = parts.layout.axes[axis]
    if at + 1 == len(letters) or set(letters[at + 1 :]) == {"t"}:
        return parts.storage_dim(axis)
    if letters[at + 1] in RAGGED:
        return parts.parents(dim + 1)
    return vectors.last(parts.vectors["offsets", dim])


def _merge_rows(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    offsets = parts.vectors["offsets", dim + 1]
    inner = parts.extent(dim)
    outer = emit.divide(parts.parents(dim + 1), inner) if _above_zero(inner) else outer_count(parts, dim)
    merged = vectors.generate(emit.add(outer, 1), lambda i: emit.load(offsets, emit.mul(i, inner)))
    return with_shape(parts, shape, lambda old: None if old in (dim, dim + 1) else old - (old > dim), {("offsets", dim): merged})


def _above_zero(extent: Mixed) -> bool:
    return isinstance(extent, int) and extent > 0


def outer_count(parts: Parts, dim: int) -> Mixed:
    """Number of positions above a dense level."""
    axis, at = parts.layout.locate(dim)
    first = parts.layout.dims(axis)[0]
    letters = parts.layout.axes[axis][:at]
    ragged = [k for k, c in enumerate(letters) if c in RAGGED]
    count: Mixed = 1
    start = 0
    if ragged:
        start = ragged[-1] + 1
        count = positions(parts, first + ragged[-1])
    for k in range(start, at):
        count = emit.mul(count, parts.extent(first + k))
    return count


def _merge_levels(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    inner = parts.vectors["offsets", dim + 1]
    moved = dropping(dim + 1)
    keep = lambda old: None if old in (dim, dim + 1) else moved(old)  # noqa: E731
    if parts.layout.letter(dim) == "r":
        merged = vectors.gather(inner, parts.vectors["offsets", dim])
        return with_shape(parts, shape, keep, {("offsets", dim): merged})
    starts, lengths = parts.vectors["starts", dim], parts.vectors["lengths", dim]
    count = emit.dim(starts, 0)

    def length(i: Any) -> Any:
        low = emit.load(starts, i)
        high = emit.load(inner, emit.add(low, emit.load(lengths, i)))
        return emit.sub(high, emit.load(inner, low))

    new = {("starts", dim): vectors.gather(inner, starts), ("lengths", dim): vectors.generate(count, length)}
    return with_shape(parts, shape, keep, new)


def scaled_vectors(parts: Parts, dim: int, factor: Mixed) -> dict[tuple[str, int], Any]:
    """The vectors of a level with every entry multiplied."""
    return {
        (kind, at): vectors.scale(vector, factor) for (kind, at), vector in parts.vectors.items() if at == dim
    }


def _merge_scale(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    new = scaled_vectors(parts, dim, parts.extent(dim + 1))
    return with_shape(parts, shape, dropping(dim + 1), new)


def _merge_features(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    axis, _ = parts.layout.locate(dim)
    new = scaled_vectors(parts, dim, parts.extent(dim + 1))
    return with_shape(parts, shape, dropping(dim + 1), new, values=_collapse_storage(parts, axis))


def _merge_untile(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    extents: dict[int, Mixed] = {}
    if shape.has_extent_part(dim) and shape.layout.letter(dim) == "d":
        axis, _ = parts.layout.locate(dim)
        extents[dim] = emit.ceildiv(parts.storage_dim(axis), shape.factor(dim))
    return with_shape(parts, shape, dropping(dim + 1), {}, extents)


def _merge_tiles(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    return with_shape(parts, shape, dropping(dim + 1), {})


def _merge_tile_parts(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    """The tiles become components: first the outer level as a level of components, then the
    merge of the dim with it."""
    if parts.layout.is_plain(dim):
        return _tile_rows(parts, dim, shape)
    axis, at = parts.layout.locate(dim + 1)
    letters = parts.layout.axes[axis]
    spelling = f"{letters[: at + 1]}r{letters[at + 2 :]}"
    layout = type(parts.layout)((*parts.layout.axes[:axis], spelling, *parts.layout.axes[axis + 1 :]))
    middle = RaggedShape(layout, tuple(None if k == dim + 2 else e for k, e in enumerate(parts.shape.shape)))
    counts = vectors.logical_lengths(parts, dim + 1)
    new = {("offsets", dim + 1): vectors.scan(counts), ("offsets", dim + 2): _tile_offsets(parts, dim + 1)}
    leveled = with_shape(parts, middle, lambda old: None if old in (dim + 1, dim + 2) else old, new)
    return merge_parts(leveled, dim)


def _tile_offsets(parts: Parts, outer: int) -> Any:
    """Starts of all tiles of a split ragged level, the total at the end."""
    axis, at = parts.layout.locate(outer)
    first = parts.layout.dims(axis)[0]
    starts = vectors.per_tuple(parts, axis, at + 1, lambda fixed: parts.axis_range(axis, fixed)[0])
    end = positions(parts, first + at)
    return append(starts, end)


def append(vector: Any, element: Mixed) -> Any:
    """A vector with one more entry."""
    size = emit.dim(vector, 0)
    init = emit.cast(emit.empty([emit.value(emit.add(size, 1))], emit.i64()), vector.type)
    grown = emit.insert_slice(vector, init, [0], [size])
    return tensor.insert(emit.to_i64(element), grown, [emit.value(size)])


def _tile_rows(parts: Parts, dim: int, shape: RaggedShape) -> Parts:
    """Rows of a dense dim times the tiles of the next: `d|dt` to components."""
    axis, _ = parts.layout.locate(dim)
    rows, length = parts.storage_dim(axis), parts.storage_dim(axis + 1)
    factor = parts.shape.factor(dim + 1)
    tiles = emit.ceildiv(length, factor)
    count = emit.mul(rows, tiles)

    def start(i: Any) -> Any:
        row = emit.minimum(rows, emit.divide(i, emit.maximum(tiles, 1)))
        tile = emit.sub(i, emit.mul(row, tiles))
        return emit.add(emit.mul(row, length), emit.mul(tile, factor))

    offsets = vectors.generate(emit.add(count, 1), start)
    values = _collapse_storage(parts, axis)
    moved = lambda old: None if old in (dim, dim + 1, dim + 2) else old - (old > dim)  # noqa: E731
    return with_shape(parts, shape, moved, {("offsets", dim + 1): offsets}, values=values)


_MERGES: dict[str, Callable[[Parts, int, RaggedShape], Parts]] = {
    "batch": _merge_batch,
    "plain": _merge_plain,
    "components": _merge_components,
    "rows": _merge_rows,
    "levels": _merge_levels,
    "scale": _merge_scale,
    "features": _merge_features,
    "untile": _merge_untile,
    "tiles": _merge_tiles,
    "tile_parts": _merge_tile_parts,
}

# split --------------------------------------------------------------------------------------------


def split_parts(parts: Parts, dim: int, factor: int) -> Parts:
    """`ragged.split`."""
    shape = parts.shape.split(dim, factor)
    extents: dict[int, Mixed] = {}
    if parts.layout.letter(dim) == "d" and shape.has_extent_part(dim):
        extents[dim] = emit.ceildiv(parts.extent(dim), factor)
    return with_shape(parts, shape, shifted(dim, 1), {}, extents)


# partition ----------------------------------------------------------------------------------------


def partition_parts(parts: Parts, dim: int, vector: Any, count: int | None, lengths: bool) -> Parts:
    """`ragged.partition` by a vector of rank 1 or rows of rank 2, any integer type."""
    rank = len(vector.type.shape)
    shape = parts.shape.partition(dim, rank, count)
    vector = emit.as_vector(vector)
    if rank == 1:
        offsets = vectors.scan(vector) if lengths else vector
        return with_shape(parts, shape, _from(dim, 1), {("offsets", dim + 1): offsets})
    columns = emit.dim(vector, 1)
    per_row = columns if lengths else emit.sub(columns, 1)
    extents: dict[int, Mixed] = {}
    if shape.has_extent_part(dim):
        extents[dim] = per_row
    if parts.layout.is_plain(dim):
        return _partition_rows(parts, dim, shape, vector, lengths, per_row, extents)
    if parts.layout.letter(dim) == "w":
        return _partition_window(parts, dim, shape, vector, lengths, per_row, extents)
    offsets = _absolute(parts, dim, vector, lengths, per_row)
    moved = lambda old: None if old == dim else old + (old > dim)  # noqa: E731
    return with_shape(parts, shape, moved, {("offsets", dim + 1): offsets}, extents)


def _from(dim: int, by: int) -> Callable[[int], int | None]:
    """Dims from `dim` on move, but the dim itself becomes the new dense level's."""
    return lambda old: None if old == dim else old + (by if old > dim else 0)


def _row_offset(vector: Any, lengths: bool, row: Any, column: Any) -> Any:
    """Start of a part of a row, relative to the row."""
    if not lengths:
        return emit.to_index(tensor.extract(vector, [emit.value(row), emit.value(column)]))

    def body(k: Any, state: list[Any]) -> list[Any]:
        return [emit.add(state[0], emit.to_index(tensor.extract(vector, [emit.value(row), k])))]

    return emit.for_loop(column, [emit.value(0)], body)[0]


def _rows_vector(rows: Mixed, per_row: Mixed, entry: Callable[[Any, Any], Any]) -> Any:
    """A vector over (row, part): entry(row, part)."""
    size = emit.mul(rows, per_row)

    def body(i: Any) -> Any:
        row = emit.divide(i, emit.maximum(per_row, 1))
        return entry(row, emit.sub(i, emit.mul(row, per_row)))

    return vectors.generate(size, body)


def _absolute(parts: Parts, dim: int, vector: Any, lengths: bool, per_row: Mixed) -> Any:
    """Absolute offsets of rows that are relative to the components of a level."""
    if parts.layout.letter(dim) == "r":
        base = vectors.element_starts(parts, dim)
        rows: Mixed = parts.parents(dim)
        end = positions(parts, dim)
        start = lambda row: emit.load(base, row)  # noqa: E731
    else:
        rows = outer_count(parts, dim)
        extent = parts.extent(dim)
        end = emit.mul(rows, extent)
        start = lambda row: emit.mul(row, extent)  # noqa: E731
    starts = _rows_vector(rows, per_row, lambda r, c: emit.add(start(r), _row_offset(vector, lengths, r, c)))
    return append(starts, end)


def _partition_rows(
    parts: Parts, dim: int, shape: RaggedShape, vector: Any, lengths: bool, per_row: Mixed, extents: dict[int, Mixed]
) -> Parts:
    axis, _ = parts.layout.locate(dim)
    rows, length = parts.storage_dim(axis - 1), parts.storage_dim(axis)
    if shape.has_extent_part(dim - 1):
        extents[dim - 1] = rows
    starts = _rows_vector(
        rows, per_row, lambda r, c: emit.add(emit.mul(r, length), _row_offset(vector, lengths, r, c))
    )
    offsets = append(starts, emit.mul(rows, length))
    values = _collapse_storage(parts, axis - 1)
    return with_shape(parts, shape, _from(dim, 1), {("offsets", dim + 1): offsets}, extents, values)


def _partition_window(
    parts: Parts, dim: int, shape: RaggedShape, vector: Any, lengths: bool, per_row: Mixed, extents: dict[int, Mixed]
) -> Parts:
    base = parts.vectors["starts", dim]
    rows = parts.parents(dim)

    def start(row: Any, column: Any) -> Any:
        return emit.add(emit.load(base, row), _row_offset(vector, lengths, row, column))

    def length(row: Any, column: Any) -> Any:
        if lengths:
            return emit.to_index(tensor.extract(vector, [row, column]))
        after = _row_offset(vector, lengths, row, emit.add(column, 1))
        return emit.sub(after, _row_offset(vector, lengths, row, column))

    new = {
        ("starts", dim + 1): _rows_vector(rows, per_row, start),
        ("lengths", dim + 1): _rows_vector(rows, per_row, length),
    }
    moved = lambda old: None if old == dim else old + (old > dim)  # noqa: E731
    return with_shape(parts, shape, moved, new, extents)
