"""What the ops check of their own operands at run time, with the texts of `ragged_dialect.checks`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ragged_dialect.layout import RAGGED
from ragged_dialect.reference.building import stored_below
from ragged_dialect.reference.conformity import require_pairs
from ragged_dialect.reference.making import lengths
from ragged_dialect.reference.validity import require
from ragged_dialect.reference.value import RaggedValue
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source, parent_dims

FACT_KINDS = {"divisible_by": "divides", "min": "at_least", "max": "at_most"}


def parts(op: str, shape: RaggedShape, given: Sequence[Any]) -> None:
    """The parts of a 1:N form: level by level, each against the extent and the count it indexes."""
    values = np.asarray(given[0])
    own = list(zip(shape.parts()[1:], given[1:], strict=True))
    for axis, letters in enumerate(shape.layout.axes):
        dims = shape.layout.dims(axis)
        extents = list(shape.shape[dims.start : dims.stop])
        vectors: dict[int, list[list[int]]] = {}
        for part, data in own:
            if part.dim in dims and part.kind == "extent":
                require("at_least", op, part.dim, [int(data)])
                extents[part.dim - dims.start] = int(data)
            elif part.dim in dims:
                vectors.setdefault(part.dim - dims.start, []).append([int(v) for v in data])
        if letters[1:].strip("t") or letters == "d":
            _axis_parts(op, dims.start, letters.rstrip("t"), extents, vectors, values.shape[axis])
        else:
            _tiled_parts(op, dims.start, shape, dims, extents[0], values.shape[axis])


def _tiled_parts(op: str, dim: int, shape: RaggedShape, dims: range, extent: int | None, size: int) -> None:
    """A split plain dim: its extent is the number of tiles that hold the storage."""
    if extent is not None:
        require("equal", op, dim, [-(-size // shape.factor(dim)), extent])


def _axis_parts(
    op: str, first: int, body: str, extents: list[int | None], vectors: dict[int, list[list[int]]], size: int
) -> None:
    count: int | None = 1
    for place, letter in enumerate(body):
        dim = first + place
        if letter == "d":
            extent = extents[place]
            if extent is None and place + 1 < len(body) and place == 0:
                extent = len(vectors[1][0]) - (body[1] == "r") if body[1] in RAGGED else None
                extents[place] = extent
            count = None if extent is None or count is None else count * extent
            continue
        below = _below(body, place, extents, vectors, size)
        operands: list[Any] = [*vectors[place], below]
        require("offsets" if letter == "r" else "windows", op, dim, operands if count is None else [*operands, count])
        count = below


def _below(body: str, place: int, extents: list[int | None], vectors: dict[int, list[list[int]]], size: int) -> int:
    """What a level's vectors index: storage, or the nodes of the levels below. Offsets above
    another level end where they say; the level below is counted against them."""
    if body[place] == "w" or place == len(body) - 1:
        return stored_below(body, place, extents, vectors, size)
    offsets = vectors[place][0]
    return offsets[-1] if offsets else 0


def partition(x: Any, vector: Any, dim: int, is_lengths: bool, count: int | None) -> None:
    """Offsets or lengths against the extent, or the stored lengths, of the partitioned dim, and
    against the static number of components."""
    x = RaggedValue.of(x)
    axis, place = x.locate(dim)
    if vector.ndim == 1:
        operands = [vector, x.extent(dim), *([] if count is None else [count])]
        require("lengths" if is_lengths else "offsets", "ragged.partition", dim + 1, operands)
        return
    if count is not None:
        require("equal", "ragged.partition", dim + 1, [vector.shape[1], count + (not is_lengths)])
    rows: list[Any] = [x.axes[axis].lengths(place)]
    if x.axes[axis].letters == "d":
        rows = [x.extent(dim), x.extent(dim - 1)]
    require("row_lengths" if is_lengths else "rows", "ragged.partition", dim + 1, [vector, *rows])


def split(x: Any, dim: int, factor: int) -> None:
    """A batch dim is a multiple of the factor."""
    x = RaggedValue.of(x)
    if x.shape.layout.is_batch(dim):
        require("divides", "ragged.split", dim, [x.extent(dim)], factor)


def _bound(x: RaggedValue, dim: int) -> Any:
    """Extent of a dense dim, or the lengths of all stored components of a ragged one."""
    axis, place = x.locate(dim)
    return x.extent(dim) if x.shape.layout.letter(dim) == "d" else x.axes[axis].lengths(place)


def select(x: Any, index: Any, dim: int) -> None:
    """The index is inside the extent, or inside every component."""
    require("index", "ragged.select", dim, [index, _bound(RaggedValue.of(x), dim)])


def slice_(x: Any, lo: Any, hi: Any, dim: int) -> None:
    """The range is inside the extent, or inside every component."""
    require("range", "ragged.slice", dim, [lo, hi, _bound(RaggedValue.of(x), dim)])


def concat(operands: Sequence[Any], dim: int) -> None:
    """The operands agree in every dim but `dim`, the levels above it included."""
    first, *others = [RaggedValue.of(x).compact() for x in operands]
    for other in others:
        for d, letter in enumerate(first.shape.layout.letters):
            if d == dim:
                continue
            if letter == "d":
                require("equal", "ragged.concat", d, [other.extent(d), first.extent(d)])
                continue
            axis, place = first.locate(d)
            top = first.shape.layout.dims(axis)[0]
            if not top <= dim < d:
                require_pairs("ragged.concat", first, other, [(k, k) for k in range(top, top + place + 1)])


def empty(
    likes: Sequence[RaggedValue], sources: Sequence[Source | None], result: RaggedShape, own: Sequence[int]
) -> None:
    """Extents are not negative; levels of different likes run over the same batch."""
    shapes = [like.shape for like in likes]
    given = iter(own)
    for dim, source in enumerate(sources):
        if source is None:
            require("at_least", "ragged.empty", dim, [next(given)])
    for dim, source in enumerate(sources):
        if source is None or result.layout.letter(dim) not in RAGGED:
            continue
        for level, at in parent_dims(shapes, list(sources), result, dim).items():
            other = sources[at]
            if other is not None and other != Source(source.like, level):
                got = likes[source.like].extent(level)
                require("equal", "ragged.empty", at, [got, likes[other.like].extent(other.level)])


def to_padded(x: RaggedValue, maxima: Sequence[int], truncate: bool) -> None:
    """Maxima are not negative and reach the longest component, unless it may be truncated."""
    ragged = [dim for dim, letter in enumerate(x.shape.layout.letters) if letter in RAGGED]
    for dim, extent in zip(ragged, maxima, strict=False):
        require("at_least", "ragged.to_padded", dim, [extent])
        if not truncate:
            require("covers", "ragged.to_padded", dim, [extent, lengths(x, dim)])
    if maxima:
        dense = [x.extent(dim) for dim in range(x.shape.rank) if dim not in ragged]
        require("fits", "ragged.to_padded", ragged[0], [*maxima, *dense])


def from_padded(dense: Any, vectors: Sequence[Any], shape: RaggedShape) -> None:
    """Offsets are valid, and their lengths inside the padded extents."""
    given = iter(vectors)
    for axis, letters in enumerate(shape.layout.axes):
        count = 1
        for dim, letter in zip(shape.layout.dims(axis), letters, strict=True):
            if letter == "d":
                count *= dense.shape[dim]
                continue
            offsets = next(given).tolist()
            require("offsets", "ragged.from_padded", dim, [offsets, offsets[-1] if offsets else 0, count])
            own = [b - a for a, b in pairwise(offsets)]
            require("covers", "ragged.from_padded", dim, [dense.shape[dim], own])
            count = offsets[-1]


def reduce_across(x: RaggedValue, extent: int, dim: int) -> None:
    """The extent of the result is not negative and reaches the longest component."""
    require("at_least", "ragged.reduce_across", dim, [extent])
    require("covers", "ragged.reduce_across", dim, [extent, lengths(x, dim)])
    plain = [x.extent(d) for d in range(x.shape.rank) if x.shape.layout.is_plain(d)]
    require("fits", "ragged.reduce_across", dim, [extent, *plain])


def assume(op: str, x: Any, level: int, facts: Mapping[str, int | None]) -> None:
    """The facts hold for every length of a level."""
    x = RaggedValue.of(x)
    bound = x.extent(level) if x.shape.layout.letter(level) == "d" else lengths(x, level)
    for name, factor in facts.items():
        if factor is not None:
            require(FACT_KINDS[name], op, level, [bound], factor)
