"""The nesting of an array as other libraries have it: lists of lists, one kind of list per dim, over
flat values. Every layout without tiles can be written so, and every such nesting is a layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.arguments import check_untiled
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.structure import Structure, offsets_of
from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import RAGGED
from ragged_dialect.runtime.signature import Array


@dataclass(frozen=True, eq=False)
class Regular:
    """`count` lists of `size` elements each."""

    size: int
    count: int


@dataclass(frozen=True, eq=False)
class Offsets:
    """Lists one after the other: `vector` has their starts and the total at the end, int64."""

    vector: Array

    @property
    def count(self) -> int:
        """Number of lists."""
        return self.vector.shape[0] - 1


@dataclass(frozen=True, eq=False)
class Windows:
    """Lists anywhere in their content: starts and lengths, int64. Only what comes in has them."""

    starts: Array
    lengths: Array

    @property
    def count(self) -> int:
        """Number of lists."""
        return self.starts.shape[0]


Level = Regular | Offsets | Windows


def trimmed(offsets: Array, content: Array) -> tuple[Offsets, Array]:
    """Offsets of any integer dtype that start anywhere, and the part of their content that they span."""
    if offsets.shape[0] == 0:
        return Offsets(np.zeros(1, np.int64)), content[:0]
    first, last = int(offsets[0]), int(offsets[-1])
    vector = offsets.astype("int64", copy=False)
    return Offsets(vector - first if first else vector), content[first:last]


def windows(starts: Array, lengths: Array) -> Offsets | Windows:
    """Lists of these starts and lengths: by offsets where they lie one after the other from 0 on.
    What an empty list has for a start is nobody's business."""
    xp = storage.namespace(starts)
    lengths = lengths.astype("int64")
    offsets = offsets_of(lengths)
    starts = xp.where(lengths > 0, starts, 0).astype("int64")
    adjacent = bool(((starts == offsets[:-1]) | (lengths == 0)).all())
    return Offsets(offsets) if adjacent else Windows(starts, lengths)


# From lists ----------------------------------------------------------------------------------------


def from_levels(op: str, values: Array, count: int, levels: Sequence[Level]) -> RaggedArray:
    """An array of `count` lists, of the kinds of lists below them, outermost first, and flat values.
    Dense dims behind the last ragged one are plain axes. The structure is checked.

    LayoutError without a ragged dim, RuntimeCheckError for lists that are not inside their content."""
    ragged = [place for place, level in enumerate(levels) if not isinstance(level, Regular)]
    if not ragged:
        raise LayoutError(f"{op}: expected a ragged dim, got none")
    nested, plain = levels[: ragged[-1] + 1], levels[ragged[-1] + 1 :]
    sizes = [level.size for level in plain if isinstance(level, Regular)]
    rows = plain[0].count if plain else values.shape[0]
    axes = [structure(count, nested), *(None for _ in sizes)]
    return RaggedArray.of(values[: rows * prod(sizes)].reshape(rows, *sizes), axes, op=op)


def structure(count: int, levels: Sequence[Level]) -> Structure:
    """The structure of an axis of `count` lists with levels below."""
    letters, vectors = "d", list[Array]()
    extents: list[int | None] = [count]
    for level in levels:
        extents.append(level.size if isinstance(level, Regular) else None)
        if isinstance(level, Regular):
            letters += "d"
        elif isinstance(level, Offsets):
            letters += "r"
            vectors.append(level.vector)
        else:
            letters += "w"
            vectors += [level.starts, level.lengths]
    return Structure(letters, vectors, extents)


# To lists ------------------------------------------------------------------------------------------


def to_levels(x: RaggedArray, op: str) -> list[Regular | Offsets]:
    """The kind of lists of every dim but the first, over `flat_values`. Nothing is copied where the first
    storage axis has all ragged dims. LayoutError for tiles."""
    check_untiled(op, x.layout)
    found: list[Regular | Offsets] = []
    outer = 1
    for axis, extent in zip(x.axes, x.buffer.shape, strict=True):
        counts = [extent] if axis is None else _counts(axis.contiguous)
        found += [Regular(extent, outer)] if axis is None else _axis_levels(axis.contiguous, outer, counts)
        outer *= counts[-1]
    return found[1:]


def flat_values(x: RaggedArray) -> Array:
    """The values, those of windows in order, as a vector of NumPy or CuPy."""
    return x.compacted.buffer.array.reshape(-1)


def positions(axis: Structure, extent: int) -> list[int]:
    """How many positions every level of an axis without tiles has; `extent` is the storage's."""
    found = [extent]
    for level in range(len(axis.letters) - 1, 0, -1):
        ragged = axis.letters[level] in RAGGED
        found.append(axis.starts(level).shape[0] if ragged else found[-1] // (axis.extents[level] or 1))
    return found[::-1]


def _counts(axis: Structure) -> list[int]:
    """How many positions every level of an axis without windows and tiles has."""
    found = [axis.extents[0] or 0]
    for level, extent in enumerate(axis.extents[1:], 1):
        found.append(axis.total(level) if extent is None else found[-1] * extent)
    return found


def _axis_levels(axis: Structure, outer: int, counts: Sequence[int]) -> list[Regular | Offsets]:
    """Levels of a nested axis without windows that every one of `outer` positions before it has."""
    found: list[Regular | Offsets] = []
    for level, letter in enumerate(axis.letters):
        if letter == "d":
            above = counts[level - 1] if level else 1
            found.append(Regular(axis.extents[level] or 0, outer * above))
        elif letter == "r" and outer == 1:
            found.append(Offsets(axis.vectors[axis.places[level]]))
        else:
            found.append(_repeated(axis.starts(level), outer, counts[level]))
    return found


def _repeated(starts: Array, outer: int, count: int) -> Offsets:
    xp = storage.namespace(starts)
    shifted = (xp.arange(outer)[:, None] * count + starts).reshape(-1)
    return Offsets(xp.concatenate([shifted, xp.full(1, outer * count, "int64")]))
