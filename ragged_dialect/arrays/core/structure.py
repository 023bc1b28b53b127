"""`Structure`: the nesting of one storage axis, with its index vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from ragged_dialect.arrays.core import validation
from ragged_dialect.arrays.core.storage import frozen, namespace, owned
from ragged_dialect.layout import RAGGED, Layout
from ragged_dialect.lazy import cached_property
from ragged_dialect.runtime.frames import descriptor, number
from ragged_dialect.runtime.signature import Array
from ragged_dialect.shape import RaggedShape


@cache
def _places(letters: str) -> tuple[int, ...]:
    found: list[int] = []
    at = 0
    for letter in letters:
        found.append(at if letter in RAGGED else -1)
        at += {"r": 1, "w": 2}.get(letter, 0)
    return tuple(found)


@cache
def _extent_parts(letters: str) -> tuple[int, ...]:
    shape = RaggedShape(Layout((letters,)), tuple(1 if c == "t" else None for c in letters))
    return tuple(level for level in range(len(letters)) if shape.has_extent_part(level))


class Structure:
    """Letters of an axis with several levels, index vectors (int64, in letter order) and extents (one
    per level, None for ragged ones). Immutable: vectors that somebody else could write are copied, and
    users look at `copies`, since a vector that changes would lead programs to foreign memory. `validate` is
    called once, where it is made."""

    def __init__(self, letters: str, vectors: Sequence[Array], extents: Sequence[int | None]) -> None:
        self._set(letters, tuple(map(owned, vectors)), tuple(extents))

    @staticmethod
    def trusted(letters: str, vectors: Sequence[Array], extents: Sequence[int | None]) -> Structure:
        """A structure of vectors that nobody else has."""
        made = Structure.__new__(Structure)
        made._set(letters, tuple(vectors), tuple(extents))
        return made

    def _set(self, letters: str, vectors: tuple[Array, ...], extents: tuple[int | None, ...]) -> None:
        self.letters = letters
        self.vectors = vectors
        self.extents = extents
        self._class = object()  # not itself: vectors are freed with the last reference

    @cached_property
    def copies(self) -> Structure:
        """The same structure for users to look at, in read-only memory of its own: PyTorch writes to such
        memory too."""
        return Structure.trusted(self.letters, [frozen(v.copy()) for v in self.vectors], self.extents)

    @staticmethod
    def of_offsets(*offsets: Array) -> Structure:
        """`dr`, `drr`, …: one vector of offsets per ragged level, outermost first."""
        count = offsets[0].shape[0] - 1
        return Structure("d" + "r" * len(offsets), offsets, (count, *(None for _ in offsets)))

    @property
    def places(self) -> tuple[int, ...]:
        """Number of the first vector of every ragged level, by level; -1 for other levels."""
        return _places(self.letters)

    @property
    def extent_parts(self) -> tuple[int, ...]:
        """Levels whose extents travel as numbers of the 1:N form."""
        return _extent_parts(self.letters)

    @cached_property
    def packed(self) -> bytes:
        """Vectors and extents as arguments of a program on the CPU."""
        numbers = [number(self.extents[level] or 0) for level in self.extent_parts]
        return b"".join([*map(descriptor, self.vectors), *numbers])

    @cached_property
    def parts(self) -> tuple[Array | int | None, ...]:
        """Vectors and extents as arguments of a program on a device."""
        return (*self.vectors, *(self.extents[level] for level in self.extent_parts))

    def lengths(self, level: int) -> Array:
        """Stored lengths of a ragged level, one per component."""
        vector = self.vectors[self.places[level]]
        return self.vectors[self.places[level] + 1] if self.letters[level] == "w" else vector[1:] - vector[:-1]

    def starts(self, level: int) -> Array:
        """Starts of the components of a ragged level."""
        vector = self.vectors[self.places[level]]
        return vector if self.letters[level] == "w" else vector[:-1]

    def validate(self, op: str, extent: int, first: int = 0) -> None:
        """RuntimeCheckError where a vector does not fit the count of its components or what it
        indexes; `extent` is the storage's, `first` the dim of the first level."""
        for level in range(len(self.letters) - 1, 0, -1):
            letter, dim, at = self.letters[level], first + level, self.places[level]
            if letter == "d":
                factor = self.extents[level] or 0
                validation.check_divides(extent, factor, op, dim)
                # rows of no elements: their number is in no extent below
                extent = extent // factor if factor else self._indexed(level - 1)
            elif letter == "r":
                validation.check_offsets(self.vectors[at], op, dim, extent, self._count(level))
                extent = self.vectors[at].shape[0] - 1
            elif letter == "w":
                count = self._count(level)
                validation.check_windows(self.vectors[at], self.vectors[at + 1], op, dim, extent, count)
                extent = self.vectors[at].shape[0]

    def _indexed(self, level: int) -> int:
        """The least extent that the vectors of the last ragged level up to here fit."""
        while level and self.letters[level] not in RAGGED:
            level -= 1
        ends = self.starts(level) + self.lengths(level) if level else None
        return int(ends.max()) if ends is not None and ends.size else 0

    def _count(self, level: int) -> int | None:
        """Components of a level where only dense levels are above it."""
        count = 1
        for above in self.extents[:level]:
            if above is None:
                return None
            count *= above
        return count

    def total(self, level: int) -> int:
        """Elements of a ragged level."""
        if self.letters[level] == "r":
            return int(self.vectors[self.places[level]][-1])
        return int(self.lengths(level).sum())

    @cached_property
    def longest(self) -> tuple[int, ...]:
        """Longest stored length per level; 0 for levels that are not ragged."""
        found: list[int] = []
        for level, letter in enumerate(self.letters):
            lengths = self.lengths(level) if letter in RAGGED else None
            found.append(int(lengths.max()) if lengths is not None and lengths.size else 0)
        return tuple(found)

    @property
    def contiguous(self) -> Structure:
        """The same lengths with windows made contiguous; itself without windows, which it does not keep: vectors
        are freed with the last reference."""
        return self._without_windows if "w" in self.letters else self

    @cached_property
    def _without_windows(self) -> Structure:
        if not self.letters.endswith("w") or self.letters.count("w") > 1:
            return self.compaction()[0]
        lengths = self.lengths(len(self.letters) - 1)
        return Structure.trusted(f"{self.letters[:-1]}r", [*self.vectors[:-2], offsets_of(lengths)], self.extents)

    @property
    def count(self) -> int:
        """How many elements there are, in windows those that they show."""
        axis = self.contiguous
        last = max(level for level, letter in enumerate(axis.letters) if letter in RAGGED)
        return int(axis.vectors[axis.places[last]][-1]) * math.prod(extent or 0 for extent in axis.extents[last + 1 :])

    @property
    def shown(self) -> int | None:
        """How many elements windows show, without a look at each; None for windows of several levels, or of none."""
        if self.letters.count("w") != 1:
            return None
        level = self.letters.index("w")
        lengths = self.lengths(level)
        if level == len(self.letters) - 1:
            return int(lengths.sum())
        low = self.starts(level) * (lengths > 0)  # where nothing begins is nobody's business
        high = low + lengths
        for below in range(level + 1, len(self.letters)):
            if self.letters[below] == "r":
                offsets = self.vectors[self.places[below]]
                low, high = offsets[low], offsets[high]
            else:
                extent = self.extents[below] or 0
                low, high = low * extent, high * extent
        return int((high - low).sum())

    def compaction(self) -> tuple[Structure, Array]:
        """The same lengths with windows made contiguous, and the positions of its elements in the storage."""
        arange = namespace(self.vectors[0]).arange
        at, vectors = arange(self.extents[0]), list[Array]()
        for level, letter in enumerate(self.letters[1:], 1):
            if letter == "d":
                extent = self.extents[level] or 0
                at = (at[:, None] * extent + arange(extent)).reshape(-1)
            elif letter in RAGGED:
                offsets = offsets_of(self.lengths(level)[at])
                rows = row_ids_of(offsets)
                at = (self.starts(level)[at] - offsets[:-1])[rows] + arange(rows.shape[0])
                vectors.append(offsets)
        return Structure.trusted(self.letters.replace("w", "r"), vectors, self.extents), at

    def prefix(self, levels: int) -> Structure:
        """The first levels."""
        if levels == len(self.letters):
            return self
        found = self._prefixes.get(levels)
        if found is None:
            vectors = sum({"r": 1, "w": 2}.get(c, 0) for c in self.letters[:levels])
            found = Structure.trusted(self.letters[:levels], self.vectors[:vectors], self.extents[:levels])
            self._prefixes[levels] = found
        return found

    @cached_property
    def _prefixes(self) -> dict[int, Structure]:
        return {}

    def difference(self, other: Structure, first: int = 0) -> str | None:
        """What sets the lengths of two structures apart, None when they conform. Found equal once,
        they are one class, and the next comparison is a pointer's."""
        if self._class is other._class:
            return None
        found = self._compare(other, first)
        if found is None:
            other._class = self._class
        return found

    def _compare(self, other: Structure, first: int) -> str | None:
        for level, (letter, own) in enumerate(zip(self.letters, self.extents, strict=True)):
            theirs = other.extents[level]
            if letter in RAGGED:
                text = _compare_lengths(self.lengths(level), other.lengths(level))
            else:
                text = None if own == theirs else f"expected {own} components, got {theirs}"
            if text is not None:
                return f"level {first + level}{text}" if letter in RAGGED else f"level {first + level}: {text}"
        return None


def _compare_lengths(a: Array, b: Array) -> str | None:
    if a is b:
        return None
    if a.shape != b.shape:
        return f": expected {a.shape[0]} components, got {b.shape[0]}"
    differ = a != b
    if not bool(differ.any()):
        return None
    at = int(differ.argmax())
    return f", component {at}: expected length {int(a[at])}, got {int(b[at])}"


def offsets_of(lengths: Array) -> Array:
    """Offsets of lengths: exclusive prefix sums, the total at the end."""
    xp = namespace(lengths)
    made = xp.zeros(lengths.shape[0] + 1, "int64")
    xp.cumsum(lengths, out=made[1:])
    return made


def row_ids_of(offsets: Array) -> Array:
    """The component of every element."""
    xp = namespace(offsets)
    if xp.__name__ == "numpy":
        return xp.repeat(xp.arange(offsets.shape[0] - 1), offsets[1:] - offsets[:-1])
    return xp.searchsorted(offsets[1:], xp.arange(int(offsets[-1])), side="right")  # CuPy repeats by numbers only
