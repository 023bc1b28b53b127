"""The layout algebra: the letters of `#ragged.layout<"…">` and the rules of nesting.

A layout has one letter per logical dim of a tensor, with `|` between storage axes:

    d  dense level: index i under parent position q is at q * n + i
    r  ragged level, contiguous: offsets[q] + i, 0 <= i < offsets[q + 1] - offsets[q]
    w  ragged window: starts[q] + i, 0 <= i < lengths[q]; gaps and overlaps are legal
    t  tile: the inner part of a split with a static factor

An axis is `d`, or `d` and tiles, or `d+` and a mix of `d r w` that ends in `r` or `w`, and tiles.
This module is plain Python, knows nothing of MLIR, and is the one place that knows the letters.
Shapes are tuples with `None` for an extent that is not static.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

from ragged_dialect.errors import LayoutError
from ragged_dialect.lazy import cached_property

Extent = int | None
Shape = tuple[Extent, ...]

RAGGED = "rw"
_JOINED = {frozenset(pair): max(pair) for pair in ("dd", "rr", "ww", "tt", "dr", "dw", "dt", "rw")}
_AXIS = re.compile(r"d(t*|[drw]*[rw]t*)\Z")


@dataclass(frozen=True)
class Layout:
    """Storage axes of a tensor, outermost first, each a string of level letters; `Layout.parse("dr|d")` reads one."""

    axes: tuple[str, ...]

    @staticmethod
    @lru_cache(maxsize=1024)
    def parse(text: str) -> Layout:
        """Parse `"dr|d"`. Raises LayoutError for text outside the grammar or a layout of plain
        `d` axes only, which says nothing that the tensor type does not say."""
        layout = Layout(tuple(text.split("|")))
        for axis in layout.axes:
            _check_axis(axis, text)
        if layout.is_dense:
            raise LayoutError(f'expected a layout with a ragged or tiled axis, got "{text}" (drop the layout)')
        return layout

    @staticmethod
    def dense(rank: int) -> Layout:
        """The layout of a tensor without encoding: `rank` plain axes."""
        return Layout(("d",) * rank)

    @staticmethod
    def of_axes(axes: list[str]) -> Layout:
        """Layout of axes in any spelling: dims at the end of an axis that are dense become
        axes of their own (`drd` is stored as `dr|d`)."""
        return Layout(tuple(part for axis in axes for part in normalize_axis(axis)))

    def __str__(self) -> str:
        return "|".join(self.axes)

    @cached_property
    def letters(self) -> str:
        """One letter per logical dim."""
        return "".join(self.axes)

    @property
    def rank(self) -> int:
        """Number of logical dims."""
        return len(self.letters)

    @property
    def storage_rank(self) -> int:
        """Rank of the dense tensor that holds the values."""
        return len(self.axes)

    @cached_property
    def is_dense(self) -> bool:
        """Whether every axis is a plain dense dim."""
        return all(axis == "d" for axis in self.axes)

    @property
    def has_windows(self) -> bool:
        """Whether some level is a window, so that storage may have gaps and overlaps."""
        return "w" in self.letters

    def has_windows_only(self, dim: int) -> bool:
        """Whether the windows are those of one dim, which is below another one of its axis."""
        return self.letter(dim) == "w" and self.locate(dim)[1] > 0 and self.letters.count("w") == 1

    @property
    def has_tiles(self) -> bool:
        """Whether some level is a tile."""
        return "t" in self.letters

    def dims(self, axis: int) -> range:
        """Logical dims of a storage axis."""
        first = sum(map(len, self.axes[:axis]))
        return range(first, first + len(self.axes[axis]))

    @cached_property
    def _places(self) -> tuple[tuple[int, int], ...]:
        return tuple((axis, at) for axis, letters in enumerate(self.axes) for at in range(len(letters)))

    def locate(self, dim: int) -> tuple[int, int]:
        """Storage axis of a logical dim, and its place within that axis."""
        if not 0 <= dim < len(self._places):
            raise LayoutError(f"expected dim in [0, {self.rank}), got {dim}")
        return self._places[dim]

    def level(self, dim: int) -> tuple[int, int, str]:
        """Storage axis of a logical dim, its place there, and the letters of that axis."""
        axis, at = self.locate(dim)
        return axis, at, self.axes[axis]

    def above(self, dim: int) -> range:
        """Dims of the levels above `dim` in its axis."""
        axis, at = self.locate(dim)
        return self.dims(axis)[:at]

    def letter(self, dim: int) -> str:
        """Letter of a logical dim."""
        axis, at = self.locate(dim)
        return self.axes[axis][at]

    def is_plain(self, dim: int) -> bool:
        """Whether a dim is a storage axis of its own."""
        return self.axes[self.locate(dim)[0]] == "d"

    def is_batch(self, dim: int) -> bool:
        """Whether a dim is a dense level of an axis with ragged levels."""
        _, at, letters = self.level(dim)
        return letters[at] == "d" and any(c in RAGGED for c in letters)

    def is_split_outer(self, dim: int) -> bool:
        """Whether a dim is the outer part of a split: its next level is a tile."""
        axis, at = self.locate(dim)
        return self.axes[axis][at] != "t" and self.axes[axis][at + 1 : at + 2] == "t"

    def is_below_window(self, dim: int) -> bool:
        """Whether a level above `dim` in its axis is a window: its components are stored by parent
        position, and the windows show each of them any number of times."""
        axis, at = self.locate(dim)
        return "w" in self.axes[axis][:at]

    def stores_lengths(self, dim: int) -> bool:
        """Whether the logical lengths of a ragged level are the stored ones: not those of tiles, and
        one for every component that is stored."""
        return not self.is_split_outer(dim) and not self.is_below_window(dim)

    def tiles_of(self, dim: int) -> range:
        """Dims of the tiles of the axis that holds `dim`."""
        axis, _ = self.locate(dim)
        dims = self.dims(axis)
        return range(dims.stop - self.axes[axis].count("t"), dims.stop)

    def vectors(self) -> Iterator[tuple[str, int]]:
        """Index vectors as (kind, dim), in the order of the 1:N form."""
        for dim, letter in enumerate(self.letters):
            if letter == "r":
                yield "offsets", dim
            elif letter == "w":
                yield "starts", dim
                yield "lengths", dim

    def join(self, other: Layout) -> Layout | None:
        """The least layout that says what both say: per dim the letter that says more (`d` below `r`
        below `w`, `d` below `t`), and an axis ends where both have one end. None where the letters or
        the nesting exclude each other."""
        ends = self._ends & other._ends
        letters = [_JOINED.get(frozenset(pair)) for pair in zip(self.letters, other.letters, strict=True)]
        text = "".join("?" if c is None else c for c in letters)
        axes = [text[a:b] for a, b in pairwise([0, *sorted(ends)])]
        return Layout(tuple(axes)) if all(axis == "d" or _AXIS.match(axis) for axis in axes) else None

    @cached_property
    def _ends(self) -> frozenset[int]:
        """The dims before which an axis ends, the rank among them."""
        return frozenset(accumulate(map(len, self.axes)))

    def replace_axis(self, axis: int, *spellings: str) -> Layout:
        """The layout with one axis replaced by axes in any spelling."""
        return Layout.of_axes([*self.axes[:axis], *spellings, *self.axes[axis + 1 :]])


def _check_axis(axis: str, text: str) -> None:
    if not axis:
        raise LayoutError(f'expected a letter in every axis of layout "{text}", got an empty axis')
    for letter in axis:
        if letter not in "drwt":
            raise LayoutError(f"expected letters d, r, w, t in layout \"{text}\", got '{letter}'")
    if axis[0] != "d":
        raise LayoutError(f"expected axis \"{axis}\" of layout \"{text}\" to start with 'd', got '{axis[0]}'")
    if not _AXIS.match(axis):
        raise LayoutError(f'expected axis "{axis}" of layout "{text}" to be {_axis_hint(axis)}')


def _axis_hint(axis: str) -> str:
    body = axis.rstrip("t")
    if "t" in body:
        return f"without levels below a tile, got '{body[body.index('t') :].lstrip('t')[0]}' below 't'"
    if len(body) > 1 and body[-1] == "d" and body != axis:
        return "'d', or to have 'r' or 'w' before its tiles, got 'd'"
    return f"spelled {'|'.join(normalize_axis(axis))}, got trailing 'd'"


def normalize_axis(letters: str) -> tuple[str, ...]:
    """Split dense levels off the end of an axis: `drd` -> `dr`, `d`. No letters, no axis."""
    body = letters.rstrip("d")
    if "t" in letters:
        return (letters,)
    tail = ("d",) * (len(letters) - len(body))
    return (body, *tail) if body else tail


def product(extents: tuple[Extent, ...]) -> Extent:
    """Product of extents, None when one of them is not static."""
    total = 1
    for extent in extents:
        if extent is None:
            return None
        total *= extent
    return total
