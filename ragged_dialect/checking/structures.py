"""Checks of index vectors against each other and against storage: `ragged.assemble`,
`ragged.from_padded`, and the ragged arguments of public functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from ragged_dialect._mlir import ir
from ragged_dialect.checking.checker import Array, Checker, Extent, Q
from ragged_dialect.layout import RAGGED
from ragged_dialect.shape import RaggedShape


@dataclass(frozen=True)
class Structure(Generic[Q]):
    """The parts of a value: vectors by (kind, dim), given extents by dim, and the extent of a
    storage axis, None where storage is made to fit."""

    shape: RaggedShape
    vectors: Mapping[tuple[str, int], Array[Q]]
    extents: Mapping[int, Extent[Q]]
    storage: Callable[[int], Extent[Q] | None]

    def extent(self, dim: int) -> Extent[Q] | None:
        """Extent of a dense level; None where the size of its vector gives it."""
        static = self.shape.shape[dim]
        return static if static is not None else self.extents.get(dim)


def check_parts(ask: Checker[Q], parts: Structure[Q]) -> None:
    """Every vector against the extent of what it indexes and the number of its parents."""
    for axis, letters in enumerate(parts.shape.layout.axes):
        if letters != "d":
            _check_extents(ask, parts, axis)
            _check_axis(ask, parts, axis)


def _check_extents(ask: Checker[Q], parts: Structure[Q], axis: int) -> None:
    dims = [d for d in parts.shape.layout.dims(axis) if parts.shape.layout.letter(d) == "d"]
    for dim in dims:
        given = parts.extents.get(dim)
        if given is not None:
            ask.valid("at_least", dim, given, factor=0)
    if dims:
        ask.fits(dims[0], [e for e in map(parts.extent, dims) if e is not None])


def _check_axis(ask: Checker[Q], parts: Structure[Q], axis: int) -> None:
    layout = parts.shape.layout
    ragged = [d for d in layout.dims(axis) if layout.letter(d) in RAGGED]
    if not ragged:
        _check_tiled(ask, parts, axis)
        return
    count: Extent[Q] | None = 1
    for dim in layout.dims(axis):
        letter = layout.letter(dim)
        if letter == "d":
            extent = parts.extent(dim)
            if extent is not None and count is not None and dim > ragged[0]:  # as many as the data says
                ask.fits(dim, [count, extent])
            count = None if extent is None or count is None else ask.times(count, extent)
        elif letter in RAGGED:
            count = _check_level(ask, parts, axis, dim, count, dim == ragged[-1])


def _check_level(
    ask: Checker[Q], parts: Structure[Q], axis: int, dim: int, count: Extent[Q] | None, innermost: bool
) -> Extent[Q] | None:
    """Check one ragged level; returns the number of its elements where its vector determines it."""
    storage = parts.storage(axis) if innermost else None
    if parts.shape.layout.letter(dim) == "w":
        bound = _rows(ask, parts, dim) if storage is None else storage
        starts, lengths = parts.vectors["starts", dim], parts.vectors["lengths", dim]
        ask.counted("windows", dim, starts, lengths, bound, count=count)
        return None
    offsets = parts.vectors["offsets", dim]
    ask.counted("offsets", dim, offsets, ask.last(offsets) if storage is None else storage, count=count)
    return None if innermost else ask.last(offsets)


def _rows(ask: Checker[Q], parts: Structure[Q], dim: int) -> Extent[Q]:
    """How many indices of a window level the vector of the next ragged level has rows for."""
    per_row: Extent[Q] = 1
    below = dim + 1
    while parts.shape.layout.letter(below) == "d":
        extent = parts.extent(below)
        per_row = ask.times(per_row, 1 if extent is None else extent)
        below += 1
    if parts.shape.layout.letter(below) == "r":
        size = ask.minus(ask.extent(parts.vectors["offsets", below], 0), 1)
    else:
        size = ask.extent(parts.vectors["starts", below], 0)
    return ask.rows(size, per_row)


def _check_tiled(ask: Checker[Q], parts: Structure[Q], axis: int) -> None:
    """A split plain dim: the outer extent covers the storage and no more."""
    dim = parts.shape.layout.dims(axis)[0]
    extent, storage = parts.extent(dim), parts.storage(axis)
    if extent is not None and storage is not None:
        ask.equal(dim, extent, ask.ceil(storage, parts.shape.factor(dim)))


def check_assembled(ask: Checker[Q], shape: RaggedShape, parts: Sequence[Array[Q]]) -> None:
    """The parts of a 1:N form, data from anywhere."""
    values = parts[0]
    named = {(part.kind, part.dim): given for part, given in zip(shape.parts(), parts, strict=True)}
    extents = {dim: ask.number(given) for (kind, dim), given in named.items() if kind == "extent"}
    for axis, letters in enumerate(shape.layout.axes):
        dim = shape.layout.dims(axis)[0]
        if letters == "d":
            ask.equal(dim, ask.extent(values, axis), shape.shape[dim])
    check_parts(ask, Structure(shape, named, extents, lambda axis: ask.extent(values, axis)))


def check_argument_facts(ask: Checker[Q], x: Array[Q], shape: RaggedShape, facts: Mapping[str, int]) -> None:
    """The facts that a function argument carries, which hold for every ragged level."""
    for level, letter in enumerate(shape.layout.letters):
        if letter in RAGGED:
            divisor, high = facts.get("ragged.divisible_by"), facts.get("ragged.max_length")
            check_facts(ask, x, shape, level, divisor, None, high)


def check_facts(
    ask: Checker[Q],
    x: Array[Q],
    shape: RaggedShape,
    level: int,
    divisor: int | None,
    low: int | None,
    high: int | None,
) -> None:
    """Facts claimed of the lengths of a level, or of the extent of a dense one."""
    dense = shape.layout.letter(level) == "d"
    for kind, factor in (("divides", divisor), ("at_least", low), ("at_most", high)):
        if factor is not None and (kind, factor) not in (("divides", 1), ("at_least", 0)):
            ask.valid(kind, level, ask.extent(x, level) if dense else ask.lengths(x, level), factor=factor)


def check_argument(ask: Checker[Q], argument: ir.Value, shape: RaggedShape) -> None:
    """A ragged argument of a public function: data from outside, read back from the value."""
    vectors: dict[tuple[str, int], Array[Q]] = {
        (kind, dim): ask.part(kind, argument, dim) for kind, dim in shape.layout.vectors()
    }
    extents = {dim: ask.extent(argument, dim) for dim in range(shape.rank) if shape.has_extent_part(dim)}
    values = ask.part("values", argument, 0)
    check_parts(ask, Structure(shape, vectors, extents, lambda axis: ask.extent(values, axis)))


def check_from_padded(ask: Checker[Q], operands: Sequence[ir.Value], shape: RaggedShape) -> None:
    """`ragged.from_padded`: offsets, and no component longer than the padded dim."""
    dense, *offsets = operands
    levels = [dim for dim, letter in enumerate(shape.layout.letters) if letter == "r"]
    for dim, letter in enumerate(shape.layout.letters):
        if letter == "d":
            ask.equal(dim, ask.extent(dense, dim), shape.shape[dim])
    batches = [d for d, letter in enumerate(shape.layout.letters) if letter == "d" and not shape.layout.is_plain(d)]
    vectors = {("offsets", dim): v for dim, v in zip(levels, offsets, strict=True)}
    extents = {d: ask.extent(dense, d) for d in batches}
    check_parts(ask, Structure(shape, vectors, extents, lambda _: None))
    for (_, dim), vector in vectors.items():
        ask.valid("covers", dim, ask.extent(dense, dim), ask.steps(vector))
