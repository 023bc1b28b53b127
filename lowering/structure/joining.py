"""Concatenation: storages side by side, or the runs of every component."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from ragged_dialect._mlir import arith, ir
from ragged_dialect.generic import generic, loop_index
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.parts import Parts, Range
from ragged_dialect.lowering.structure import walks
from ragged_dialect.lowering.structure.runs import fill_runs
from ragged_dialect.lowering.structure.views import outer_count
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import storage_type

_INTERLEAVED = 16
"""Columns that one loop makes rows of: LLVM unrolls it over so many; of more it would look for the one to be read."""


def concat_plain(ctx: Lowering, operands: list[Parts], dim: int, shape: RaggedShape) -> Parts:
    """Along a dense storage axis: the storages side by side."""
    axis, _ = operands[0].layout.locate(dim)
    sizes = operands[0].storage_dims()
    sizes[axis] = _sum([operand.storage_dim(axis) for operand in operands])
    into = _side_by_side([x.values for x in operands], shapes.empty(sizes, operands[0].element), axis)
    made = operands[0].replace(shapes.cast(into, storage_type(shape, operands[0].element)))
    return Parts(ctx, shape, made.held, made.vectors, made.extents)


def concat_runs(ctx: Lowering, operands: list[Parts], dim: int) -> Parts:
    """Along a batch or ragged dim, for operands without tiles, and with windows at most at a ragged dim that is joined:
    under every position above the dim, the runs of the operands in turn. A run is contiguous, whatever levels are
    below."""
    first, *others = operands
    axis, _ = first.layout.locate(dim)
    shape = first.shape.concat([other.shape for other in others], dim)
    dims = first.layout.dims(axis)
    made = Parts(ctx, shape, None, {}, {})
    for d in range(shape.rank):
        if shape.has_extent_part(d):
            made.extents[d] = _sum([x.extent(d) for x in operands]) if d == dim else first.extent(d)
    for (kind, d), vector in first.vectors.items():
        if d not in dims or d < dim:
            made.vectors[kind, d] = vector
    runs = _Runs(ctx, operands, dim, made)
    for level in range(dim, dims.stop):
        if shape.layout.letter(level) == "r":
            made.vectors["offsets", level] = vectors.scan(runs.lengths(level))
    sizes = first.storage_dims()
    sizes[axis] = runs.size(dims.stop, [x.storage_dim(axis) for x in operands])
    into = shapes.cast(shapes.empty(sizes, first.element), storage_type(shape, first.element))
    made.held = runs.copy([x.values for x in operands], into, dims.stop, axis)
    return made


def _sum(sizes: list[Mixed]) -> Mixed:
    return reduce(build.add, sizes)


def _side_by_side(sources: list[ir.Value], into: ir.Value, axis: int) -> ir.Value:
    single = axis == len(into.type.shape) - 1 and all(source.type.shape[axis] == 1 for source in sources)
    if single and 1 < len(sources) <= _INTERLEAVED:
        return _interleaved(sources, into)
    low: Mixed = 0
    for source in sources:
        sizes = shapes.dims(source)
        if sizes[axis] == 0:  # at the end of what is joined it would be outside
            continue
        into = shapes.insert_slice(source, into, [low if k == axis else 0 for k in range(len(sizes))], sizes)
        low = build.add(low, sizes[axis])
    return into


def _interleaved(sources: list[ir.Value], into: ir.Value) -> ir.Value:
    """Elements of several storages next to each other: in one loop, as each copied by itself would take all of the
    result through the cache."""
    rank = len(into.type.shape)
    whole = ir.AffineMap.get_identity(rank)
    columns = [shapes.extract_slice(x, [0] * rank, shapes.dims(x), [True] * (rank - 1) + [False]) for x in sources]

    def body(given: list[ir.Value]) -> list[ir.Value]:
        number, found = loop_index(rank - 1), given[0]
        for k in range(1, len(sources)):
            found = arith.select(build.equal(number, k), given[k], found)
        return [found]

    narrow = ir.AffineMap.get(rank, 0, list(whole.results)[:-1])
    maps, kinds = [narrow] * len(sources), ["parallel"] * rank
    return generic(columns, [into], [*maps, whole], kinds, body).result


@dataclass(frozen=True)
class _Runs:
    """What the operands have under the positions above the joined dim."""

    ctx: Lowering
    operands: list[Parts]
    dim: int
    made: Parts

    def size(self, level: int, sizes: list[Mixed]) -> Mixed:
        """How many entries what is made for the parent positions of `level` has, of operands with so many. Windows show
        others than there are."""
        if any(x.layout.has_windows for x in self.operands):
            axis, _ = self.made.layout.locate(self.dim)
            return self.made.run(self.made.layout.dims(axis).start, level, 0)[1]
        return _sum(sizes)

    def lengths(self, level: int) -> ir.Value:
        """Lengths of a level at or below the joined dim, in the order of the result."""
        found = [walks.element_lengths(x, level) for x in self.operands]
        if level == self.dim:
            return vectors.generate(
                shapes.dim(found[0], 0), lambda i: build.value(_sum([shapes.load(vector, i) for vector in found]))
            )
        into = vectors.empty(self.size(level, [shapes.dim(vector, 0) for vector in found]))
        return self.copy(found, into, level, 0)

    def copy(self, sources: list[ir.Value], into: ir.Value, level: int, axis: int) -> ir.Value:
        """`into` with the runs along an axis of every source, which has an entry for every parent position
        of `level`, or for every element when that is one past the last level."""
        first, dim = self.operands[0], self.dim
        if first.layout.locate(dim)[1] == 0:
            return _side_by_side(sources, into, axis)
        count = first.parents(dim) if first.layout.letter(dim) in RAGGED else outer_count(first, dim)

        alike = [_with_extents_of(into, source, axis) for source in sources]

        def joined(q: ir.Value, run: ir.Value) -> ir.Value:
            low: Mixed = 0
            for operand, source in zip(self.operands, alike, strict=True):
                at, size = operand.run(dim, level, q)
                piece, sizes = _slice(source, _along(axis, source, (at, size))), shapes.dims(run)
                sizes[axis] = size
                run = shapes.insert_slice(piece, run, [low if k == axis else 0 for k in range(len(sizes))], sizes)
                low = build.add(low, size)
            return run

        return fill_runs(self.ctx, count, into, lambda q: _along(axis, into, self.made.run(dim, level, q)), joined)


def _with_extents_of(into: ir.Value, x: ir.Value, axis: int) -> ir.Value:
    """A source whose type knows all extents that the type of the result knows, but along one axis: types of operands
    may know others each."""
    known = list(into.type.shape)
    known[axis] = x.type.shape[axis]
    return shapes.cast(x, ir.RankedTensorType.get(known, x.type.element_type))


def _along(axis: int, x: ir.Value, run: Range) -> list[Range]:
    """A range along one axis, and all there is along the others."""
    return [run if k == axis else (0, shapes.dim(x, k)) for k in range(len(x.type.shape))]


def _slice(x: ir.Value, ranges: list[Range]) -> ir.Value:
    return shapes.extract_slice(x, [low for low, _ in ranges], [size for _, size in ranges], [True] * len(ranges))
