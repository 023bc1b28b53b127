"""`ragged.partition` on parts: offsets become absolute and one-dimensional."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import ir, tensor
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering import walks
from ragged_dialect.lowering.parts import Parts
from ragged_dialect.lowering.views import append, collapse_storage, outer_count, positions, with_shape
from ragged_dialect.shape import RaggedShape


def partition_parts(parts: Parts, dim: int, vector: ir.Value, count: int | None, lengths: bool) -> Parts:
    """`ragged.partition` by a vector of rank 1 or rows of rank 2, any integer type."""
    rank = len(vector.type.shape)
    shape = parts.shape.partition(dim, rank, count)
    vector = shapes.as_vector(vector)
    if rank == 1:
        offsets = vectors.scan(vector) if lengths else vector
        return with_shape(parts, shape, _from(dim, 1), {("offsets", dim + 1): offsets})
    columns = shapes.dim(vector, 1)
    per_row = columns if lengths else build.sub(columns, 1)
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


def _row_offset(vector: ir.Value, lengths: bool, row: ir.Value, column: Mixed) -> ir.Value:
    """Start of a part of a row, relative to the row."""
    if not lengths:
        return build.to_index(tensor.extract(vector, [build.value(row), build.value(column)]))

    def body(k: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        return [build.add(state[0], build.to_index(tensor.extract(vector, [build.value(row), k])))]

    return flow.for_loop(column, [build.value(0)], body)[0]


def _rows_vector(rows: Mixed, per_row: Mixed, entry: Callable[[ir.Value, Mixed], Mixed]) -> ir.Value:
    """A vector over (row, part): entry(row, part)."""
    size = build.mul(rows, per_row)

    def body(i: ir.Value) -> Mixed:
        row = build.divide(i, build.maximum(per_row, 1))
        return entry(row, build.sub(i, build.mul(row, per_row)))

    return vectors.generate(size, body)


def _absolute(parts: Parts, dim: int, vector: ir.Value, lengths: bool, per_row: Mixed) -> ir.Value:
    """Absolute offsets of rows that are relative to the components of a level."""
    if parts.layout.letter(dim) == "r":
        base = walks.element_starts(parts, dim)
        rows: Mixed = parts.parents(dim)
        end = positions(parts, dim)
        start = lambda row: shapes.load(base, row)  # noqa: E731
    else:
        rows = outer_count(parts, dim)
        extent = parts.extent(dim)
        end = build.mul(rows, extent)
        start = lambda row: build.mul(row, extent)  # noqa: E731
    starts = _rows_vector(rows, per_row, lambda r, c: build.add(start(r), _row_offset(vector, lengths, r, c)))
    return append(starts, end)


def _partition_rows(
    parts: Parts,
    dim: int,
    shape: RaggedShape,
    vector: ir.Value,
    lengths: bool,
    per_row: Mixed,
    extents: dict[int, Mixed],
) -> Parts:
    axis, _ = parts.layout.locate(dim)
    rows, length = parts.storage_dim(axis - 1), parts.storage_dim(axis)
    if shape.has_extent_part(dim - 1):
        extents[dim - 1] = rows
    starts = _rows_vector(
        rows, per_row, lambda r, c: build.add(build.mul(r, length), _row_offset(vector, lengths, r, c))
    )
    offsets = append(starts, build.mul(rows, length))
    values = collapse_storage(parts, axis - 1)
    return with_shape(parts, shape, _from(dim, 1), {("offsets", dim + 1): offsets}, extents, values)


def _partition_window(
    parts: Parts,
    dim: int,
    shape: RaggedShape,
    vector: ir.Value,
    lengths: bool,
    per_row: Mixed,
    extents: dict[int, Mixed],
) -> Parts:
    base = parts.vectors["starts", dim]
    rows = parts.parents(dim)

    def start(row: ir.Value, column: Mixed) -> Mixed:
        return build.add(shapes.load(base, row), _row_offset(vector, lengths, row, column))

    def length(row: ir.Value, column: Mixed) -> Mixed:
        if lengths:
            return build.to_index(tensor.extract(vector, [build.value(row), build.value(column)]))
        after = _row_offset(vector, lengths, row, build.add(column, 1))
        return build.sub(after, _row_offset(vector, lengths, row, column))

    new = {
        ("starts", dim + 1): _rows_vector(rows, per_row, start),
        ("lengths", dim + 1): _rows_vector(rows, per_row, length),
    }
    moved = lambda old: None if old == dim else old + (old > dim)  # noqa: E731
    return with_shape(parts, shape, moved, new, extents)
