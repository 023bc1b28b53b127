"""Checks of index vectors against each other and against storage: `ragged.assemble`,
`ragged.from_padded`, and the ragged arguments of public functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED
from ragged_dialect.passes.checking.emitter import Emitter, Extent
from ragged_dialect.shape import RaggedShape


@dataclass(frozen=True)
class Parts:
    """The parts of a value: vectors by (kind, dim), given extents by dim, and the extent of a
    storage axis, None where storage is made to fit."""

    shape: RaggedShape
    vectors: Mapping[tuple[str, int], ir.Value]
    extents: Mapping[int, Mixed]
    storage: Callable[[int], Extent | None]

    def extent(self, dim: int) -> Extent | None:
        """Extent of a dense level; None where the size of its vector gives it."""
        static = self.shape.shape[dim]
        return static if static is not None else self.extents.get(dim)


def check_parts(emit: Emitter, parts: Parts) -> None:
    """Every vector against the extent of what it indexes and the number of its parents."""
    for axis, letters in enumerate(parts.shape.layout.axes):
        if letters != "d":
            _check_extents(emit, parts, axis)
            _check_axis(emit, parts, axis)


def _check_extents(emit: Emitter, parts: Parts, axis: int) -> None:
    dims = [d for d in parts.shape.layout.dims(axis) if parts.shape.layout.letter(d) == "d"]
    for dim in dims:
        given = parts.extents.get(dim)
        if given is not None:
            emit.valid("at_least", dim, given, factor=0)
    if dims:
        emit.fits(dims[0], [e for e in map(parts.extent, dims) if e is not None])


def _check_axis(emit: Emitter, parts: Parts, axis: int) -> None:
    layout = parts.shape.layout
    ragged = [d for d in layout.dims(axis) if layout.letter(d) in RAGGED]
    if not ragged:
        _check_tiled(emit, parts, axis)
        return
    count: Extent | None = 1
    for dim in layout.dims(axis):
        letter = layout.letter(dim)
        if letter == "d":
            extent = parts.extent(dim)
            count = None if extent is None or count is None else emit.times(count, extent)
        elif letter in RAGGED:
            count = _check_level(emit, parts, axis, dim, count, dim == ragged[-1])


def _check_level(
    emit: Emitter, parts: Parts, axis: int, dim: int, count: Extent | None, innermost: bool
) -> Extent | None:
    """Check one ragged level; returns the number of its elements where its vector determines it."""
    storage = parts.storage(axis) if innermost else None
    if parts.shape.layout.letter(dim) == "w":
        bound = _rows(emit, parts, dim) if storage is None else storage
        starts, lengths = parts.vectors["starts", dim], parts.vectors["lengths", dim]
        emit.counted("windows", dim, starts, lengths, bound, count=count)
        return None
    offsets = parts.vectors["offsets", dim]
    emit.offsets(dim, offsets, emit.last(offsets) if storage is None else storage, count)
    return None if innermost else emit.last(offsets)


def _rows(emit: Emitter, parts: Parts, dim: int) -> Extent:
    """How many indices of a window level the vector of the next ragged level has rows for."""
    per_row: Extent = 1
    below = dim + 1
    while parts.shape.layout.letter(below) == "d":
        extent = parts.extent(below)
        per_row = emit.times(per_row, 1 if extent is None else extent)
        below += 1
    if parts.shape.layout.letter(below) == "r":
        size = emit.minus(emit.extent(parts.vectors["offsets", below], 0), 1)
    else:
        size = emit.extent(parts.vectors["starts", below], 0)
    return emit.rows(size, per_row)


def _check_tiled(emit: Emitter, parts: Parts, axis: int) -> None:
    """A split plain dim: the outer extent covers the storage and no more."""
    dim = parts.shape.layout.dims(axis)[0]
    extent, storage = parts.extent(dim), parts.storage(axis)
    if extent is not None and storage is not None:
        emit.equal(dim, extent, emit.ceil(storage, parts.shape.factor(dim)))


def check_assemble(emit: Emitter, op: ir.Operation, shape: RaggedShape) -> None:
    """`ragged.assemble`: data from anywhere."""
    values = op.operands[0]
    named = {(part.kind, part.dim): v for part, v in zip(shape.parts(), op.operands, strict=True)}
    extents = {dim: v for (kind, dim), v in named.items() if kind == "extent"}
    for axis, letters in enumerate(shape.layout.axes):
        dim = shape.layout.dims(axis)[0]
        static = shape.shape[dim]
        if letters == "d" and static is not None:
            emit.equal(dim, emit.extent(values, axis), static)
    check_parts(emit, Parts(shape, named, extents, lambda axis: emit.extent(values, axis)))


def check_argument(emit: Emitter, argument: ir.Value, shape: RaggedShape) -> None:
    """A ragged argument of a public function: data from outside, read back from the value."""
    vectors = {(kind, dim): emit.part(kind, argument, dim) for kind, dim in shape.layout.vectors()}
    extents = {dim: emit.extent(argument, dim) for dim in range(shape.rank) if shape.has_extent_part(dim)}
    values = emit.part("values", argument, 0)
    check_parts(emit, Parts(shape, vectors, extents, lambda axis: emit.extent(values, axis)))


def check_from_padded(emit: Emitter, op: ir.Operation, shape: RaggedShape) -> None:
    """`ragged.from_padded`: offsets, and no component longer than the padded dim."""
    dense, *offsets = op.operands
    levels = [dim for dim, letter in enumerate(shape.layout.letters) if letter == "r"]
    for dim, letter in enumerate(shape.layout.letters):
        static = shape.shape[dim]
        if letter == "d" and static is not None:
            emit.equal(dim, emit.extent(dense, dim), static)
    batches = [d for d, letter in enumerate(shape.layout.letters) if letter == "d" and not shape.layout.is_plain(d)]
    vectors = {("offsets", dim): v for dim, v in zip(levels, offsets, strict=True)}
    extents = {d: emit.extent(dense, d) for d in batches}
    check_parts(emit, Parts(shape, vectors, extents, lambda _: None))
    for (_, dim), vector in vectors.items():
        emit.valid("covers", dim, emit.extent(dense, dim), emit.steps(vector))
