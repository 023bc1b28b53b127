"""The components of an array, one by one: views, by arithmetic on offsets alone."""

from __future__ import annotations

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.array import RaggedArray, whole
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.arrays.core.structure import Structure
from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import RAGGED
from ragged_dialect.runtime.signature import Array


def components(x: RaggedArray, count: int | None = None) -> list[RaggedArray | Dense]:
    """The components along dim 0, the first `count`; arrays without a ragged dim are dense ones.
    LayoutError for a layout with tiles, whose components have holes."""
    if x.layout.has_tiles:
        raise LayoutError(f'expected a layout without tiles, got "{x.layout}" (merge it first)')
    axis = x.axes[0]
    total = len(x) if count is None else min(count, len(x))
    if axis is None:
        return [_row(x, at) for at in range(total)]
    pieces = _Pieces(axis)
    if len(axis.letters) == 2 and axis.letters[1] in RAGGED and all(other is None for other in x.axes[1:]):
        values, starts, lengths = whole(x), pieces.starts[1][:total], pieces.lengths[1][:total]
        return [values[low:high] for low, high in zip(starts.tolist(), (starts + lengths).tolist(), strict=True)]
    return [_component(x, *pieces.component(at)) for at in range(total)]


Piece = tuple[int, int, Structure | tuple[int | None, ...]]
"""Storage range, the end -1 for all of it, and structure, or the extents of dense levels."""


class _Pieces:
    """Vectors of an axis on the host, read once."""

    def __init__(self, axis: Structure) -> None:
        self.axis = axis
        self.starts = {k: storage.to_host(axis.starts(k)) for k, c in enumerate(axis.letters) if c in RAGGED}
        self.lengths = {k: storage.to_host(axis.lengths(k)) for k, c in enumerate(axis.letters) if c in RAGGED}

    def component(self, at: int) -> Piece:
        """Storage range and structure of a component of the first level."""
        letters = self.axis.letters
        if letters[1] == "d":
            return self._uniform(at)
        low = int(self.starts[1][at])
        high = low + int(self.lengths[1][at])
        return self._below(2, "d", low, high, (high - low,))

    def _uniform(self, at: int) -> Piece:
        """Below a dense batch: one of its rows, whose levels stay."""
        extent = self.axis.extents[1] or 0
        return self._below(2, "d", at * extent, (at + 1) * extent, (extent,))

    def _below(self, level: int, letters: str, low: int, high: int, extents: tuple[int | None, ...]) -> Piece:
        """Levels from `level` on for parent positions [low, high)."""
        axis = self.axis
        vectors: list[Array] = []
        while level < len(axis.letters):
            letter = axis.letters[level]
            if letter == "d":
                extent = axis.extents[level] or 0
                low, high = low * extent, high * extent
                extents = (*extents, extent)
            elif letter == "r":
                offsets = axis.vectors[axis.places[level]]
                first = int(offsets[low])
                vectors.append(offsets[low : high + 1] - first)
                low, high = first, int(offsets[high])
                extents = (*extents, None)
            else:
                place = axis.places[level]
                vectors += [axis.vectors[place][low:high], axis.vectors[place + 1][low:high]]
                return self._window(level, letters + axis.letters[level:], vectors, extents)
            letters += letter
            level += 1
        return low, high, Structure(letters, vectors, extents) if any(c in RAGGED for c in letters) else extents

    def _window(self, level: int, letters: str, vectors: list[Array], extents: tuple[int | None, ...]) -> Piece:
        """A window keeps all of the storage, and the levels below it as they are."""
        axis = self.axis
        end = axis.places[level] + 2
        made = Structure(letters, [*vectors, *axis.vectors[end:]], (*extents, *axis.extents[level:]))
        return 0, -1, made


def _row(x: RaggedArray, at: int) -> RaggedArray | Dense:
    """A component where dim 0 is a storage axis."""
    taken = whole(x)[at]
    return RaggedArray.of(taken, x.axes[1:], op="unbind", check=False)


def _component(x: RaggedArray, low: int, high: int, levels: Structure | tuple[int | None, ...]) -> RaggedArray | Dense:
    values = whole(x)
    values = values if high < 0 else values[low:high]
    axes = x.axes[1:]
    if isinstance(levels, tuple):
        values = values.reshape(*(e or 0 for e in levels), *values.shape[1:])
        axes = (*(None for _ in levels), *axes)
    else:
        axes = (levels, *axes)
    return values if all(axis is None for axis in axes) else RaggedArray.of(values, axes, op="unbind", check=False)
