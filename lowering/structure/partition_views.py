"""`ragged.partition` on parts: offsets become absolute and one-dimensional."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect._mlir import ir, tensor
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.lowering.structure import walks
from ragged_dialect.lowering.structure.views import append, collapse_storage, outer_count, positions, with_shape


def partition_parts(parts: Parts, dim: int, vector: ir.Value, count: int | None, lengths: bool) -> Parts:
    """`ragged.partition` by a vector of rank 1 or rows of rank 2, any integer type."""
    rank = len(vector.type.shape)
    shape = parts.shape.partition(dim, rank, count)
    vector = shapes.as_vector(vector)

    def moved(old: int) -> int | None:
        return None if old == dim else old + (old > dim)  # `dim` itself is the new dense level

    if rank == 1:
        offsets = vectors.scan(vector) if lengths else vector
        return with_shape(parts, shape, moved, {("offsets", dim + 1): offsets})
    rows = _Rows.of(vector, lengths)
    extents: dict[int, Mixed] = {dim: rows.parts} if shape.has_extent_part(dim) else {}
    if parts.layout.letter(dim) == "w":
        return with_shape(parts, shape, moved, _windows(parts, dim, rows), extents)
    offsets, values = _offsets(parts, dim, rows), None
    if parts.layout.is_plain(dim):
        axis, _ = parts.layout.locate(dim)
        values = collapse_storage(parts, axis - 1)
        if shape.has_extent_part(dim - 1):
            extents[dim - 1] = parts.storage_dim(axis - 1)
    return with_shape(parts, shape, moved, {("offsets", dim + 1): offsets}, extents, values)


@dataclass(frozen=True)
class _Rows:
    """Rows of lengths or of offsets relative to their component, each of so many parts."""

    vector: ir.Value
    lengths: bool
    parts: Mixed

    @staticmethod
    def of(vector: ir.Value, lengths: bool) -> _Rows:
        columns = shapes.dim(vector, 1)
        return _Rows(vector, lengths, columns if lengths else build.sub(columns, 1))

    def entry(self, row: ir.Value, column: Mixed) -> ir.Value:
        """An entry of the matrix."""
        return build.to_index(tensor.extract(self.vector, [build.value(row), build.value(column)]))

    def offset(self, row: ir.Value, column: Mixed) -> ir.Value:
        """Start of a part of a row, relative to the row."""
        if not self.lengths:
            return self.entry(row, column)

        def body(k: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
            return [build.add(state[0], self.entry(row, k))]

        return flow.for_loop(column, [build.value(0)], body)[0]

    def length(self, row: ir.Value, column: Mixed) -> Mixed:
        """Length of a part of a row."""
        if self.lengths:
            return self.entry(row, column)
        return build.sub(self.offset(row, build.add(column, 1)), self.offset(row, column))

    def each(self, count: Mixed, entry: Callable[[ir.Value, Mixed], Mixed]) -> ir.Value:
        """A vector over (row, part) of so many rows: entry(row, part)."""

        def body(i: ir.Value) -> Mixed:
            row = build.divide(i, build.maximum(self.parts, 1))
            return entry(row, build.sub(i, build.mul(row, self.parts)))

        return vectors.generate(build.mul(count, self.parts), body)


def _offsets(parts: Parts, dim: int, rows: _Rows) -> ir.Value:
    """Absolute offsets of rows that are relative to the components of a level."""
    if parts.layout.letter(dim) == "r":
        base, count, end = walks.element_starts(parts, dim), parts.parents(dim), positions(parts, dim)
        return append(rows.each(count, lambda r, c: build.add(shapes.load(base, r), rows.offset(r, c))), end)
    if parts.layout.is_plain(dim):
        axis, _ = parts.layout.locate(dim)
        count, extent = parts.storage_dim(axis - 1), parts.storage_dim(axis)
    else:
        count, extent = outer_count(parts, dim), parts.extent(dim)
    end = build.mul(count, extent)
    return append(rows.each(count, lambda r, c: build.add(build.mul(r, extent), rows.offset(r, c))), end)


def _windows(parts: Parts, dim: int, rows: _Rows) -> dict[tuple[str, int], ir.Value]:
    """The vectors of windows in windows."""
    base, count = parts.vectors["starts", dim], parts.parents(dim)
    starts = rows.each(count, lambda r, c: build.add(shapes.load(base, r), rows.offset(r, c)))
    return {("starts", dim + 1): starts, ("lengths", dim + 1): rows.each(count, rows.length)}
