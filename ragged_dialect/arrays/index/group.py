"""Elements in another order: those that a reduction combines though levels below stay, one after the other.

Reducing dim 0 or 1 of a list of lists combines the elements at equal indices of the dims that stay, as
TensorFlow does. Grouped, such elements are the components of an innermost ragged dim, in the order of
the list of lists: every reduction, softmax and scan of that dim does what is asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.index.rows import inverse, take_rows
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.elements import INT64, constant
from ragged_dialect.arrays.tracing.loops import compute, empty
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import known
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED


@dataclass(frozen=True)
class _Move:
    """A storage axis in another order: the source of every position."""

    number: int
    order: ir.Value

    def slots(self) -> ir.Value:
        """Where each source goes."""
        return inverse(self.order)


@dataclass(frozen=True)
class Grouped:
    """A tensor with its elements grouped, the dims that are to be reduced there, and what was moved."""

    source: Tensor
    value: Tensor
    dims: frozenset[int]
    moves: tuple[_Move, ...] = ()

    def back(self, made: Tensor) -> Tensor:
        """A tensor of the grouped structure in the order of the source."""
        for move in self.moves:
            made = take_rows(made, move.number, move.slots(), self.source.axes[move.number])
        return made

    def indices(self, dim: int) -> tuple[Tensor, range]:
        """For every grouped element its index of a dim of the one axis that is in another order, int64, and
        the dims of that axis in the grouped tensor."""
        (move,) = self.moves
        axis, first = self.source.nested_axis(move.number), self.source.layout.dims(move.number)[0]
        levels = _Levels(self.source, move.number, axis)
        last = len(axis.letters) - 1
        levels.prepare(last)
        size = shapes.dim(move.order, 0)
        at = vectors.generate(size, lambda k: levels.indices(last, shapes.load(move.order, k))[dim - first])
        made = self.value.trace.assembled(at, [self.value.axes[move.number]], INT64)
        return made, self.value.layout.dims(move.number)


def leaves_children(axis: NestedAxis, gone: frozenset[int]) -> bool:
    """Whether a level stays when levels of its axis are reduced, and one above it does not, of which one is ragged."""
    return any(
        level not in gone
        and any(above < level and (letter in RAGGED or axis.letters[above] in RAGGED) for above in gone)
        for level, letter in enumerate(axis.letters)
    )


def folds_pairs(x: Tensor, dims: frozenset[int]) -> bool:
    """Whether a reduction is over the first elements of all pairs, which can be computed for each second one."""
    return x.turned is not None and 1 in dims and dims.isdisjoint((0, 2))


def grouped(x: Tensor, dims: frozenset[int], *, folds: bool = False) -> Grouped:
    """`x`, without windows and tiles, with the elements that a reduction of `dims` combines side by side;
    itself where levels stay with their parents. What only `folds` them, and needs none in the order of the source,
    has those of all pairs computed so."""
    if folds and x.turned is not None and folds_pairs(x, dims):
        return Grouped(x, x.turned(), dims - {1} | {2})
    value, found, moves = x, set[int](), list[_Move]()
    first = 0
    for number, axis in enumerate(x.axes):
        own = x.layout.dims(number)
        gone = frozenset(d - own[0] for d in own if d in dims)
        if isinstance(axis, NestedAxis) and leaves_children(axis, gone):
            made, order = _regrouped(_Levels(x, number, axis), gone)
            value = take_rows(value, number, order, made)
            moves.append(_Move(number, order))
            first += len(made.letters)
            found.add(first - 1)
        else:
            found |= {first + level for level in gone}
            first += len(own)
    return Grouped(x, value, frozenset(found), tuple(moves))


class _Levels:
    """The levels of an axis without windows: where a position is in each of them."""

    def __init__(self, x: Tensor, number: int, axis: NestedAxis) -> None:
        self.axis = axis
        self.trace = x.trace
        self.letters = axis.letters
        first = x.layout.dims(number)[0]
        self.extents = {k: build.value(x.extent(first + k)) for k, c in enumerate(axis.letters) if c == "d"}
        ragged = [k for k, c in enumerate(axis.letters) if c == "r"]
        self.offsets = dict(zip(ragged, axis.vectors, strict=True))
        self._rows: dict[int, ir.Value] = {}

    def count(self, level: int) -> Mixed:
        """How many positions a level has."""
        if self.letters[level] == "r":
            return vectors.last(self.offsets[level])
        return self.extents[0] if level == 0 else build.mul(self.count(level - 1), self.extents[level])

    def rows(self, level: int) -> ir.Value:
        """The parent of every position of a ragged level."""
        if level not in self._rows:
            own = self.trace.prefix(self.axis, level + 1)
            self._rows[level] = builders.row_ids(self.trace.nothing_of(own), level)
        return self._rows[level]

    def prepare(self, level: int) -> None:
        """Make what `indices` reads from this level up."""
        for above in range(level + 1):
            if self.letters[above] == "r":
                self.rows(above)

    def indices(self, level: int, position: ir.Value) -> list[Mixed]:
        """The indices, one per level, of a position."""
        found: list[Mixed] = []
        for at in range(level, 0, -1):
            if self.letters[at] == "r":
                row = shapes.load(self.rows(at), position)
                found.append(build.sub(position, shapes.load(self.offsets[at], row)))
                position = row
            else:
                found.append(arith.remui(position, self.extents[at]))
                position = arith.divui(position, self.extents[at])
        return [position, *reversed(found)]

    def lengths(self, level: int) -> ir.Value:
        """The lengths of a ragged level, by parent position."""
        return vectors.differences(self.offsets[level])


class _Kept:
    """The levels that stay, as those of an axis."""

    def __init__(self) -> None:
        self.letters = ""
        self.levels: list[int] = []
        self.vectors: list[ir.Value] = []
        self.extents: list[Mixed | None] = []
        self.count: Mixed = 1

    def add_dense(self, level: int, extent: Mixed) -> None:
        """A dense level."""
        self.letters += "d"
        self.levels.append(level)
        self.extents.append(extent)
        self.count = build.mul(self.count, extent)

    def add_ragged(self, level: int, offsets: ir.Value) -> None:
        """A ragged level."""
        self.letters += "r"
        self.levels.append(level)
        self.extents.append(None)
        self.vectors.append(offsets)
        self.count = vectors.last(offsets)

    def position(self, indices: list[Mixed]) -> Mixed:
        """Where the element with these indices of the source's levels is."""
        at: Mixed = 0
        own = iter(self.vectors)
        for level, extent in zip(self.levels, self.extents, strict=True):
            at = shapes.load(next(own), at) if extent is None else build.mul(at, extent)
            at = build.add(at, indices[level])
        return build.value(at)


def _regrouped(levels: _Levels, gone: frozenset[int]) -> tuple[NestedAxis, ir.Value]:
    """The axis of grouped elements, and the source of every one of them."""
    kept = _kept(levels, gone)
    places = _places(levels, len(levels.letters) - 1, kept)
    letters = f"{kept.letters}r"
    first = None if letters[1] == "r" else kept.extents[0]
    axis = NestedAxis(letters, [*kept.vectors, builders.offsets(places, 1)], [first, *kept.extents[1:], None])
    return axis, builders.values(places)


def _kept(levels: _Levels, gone: frozenset[int]) -> _Kept:
    """Lengths of a level whose parents are combined are those of the longest of them."""
    kept = _Kept()
    for level, letter in enumerate(levels.letters):
        if level in gone:
            continue
        if letter == "d":
            kept.add_dense(level, levels.extents[level])
        elif not kept.letters:
            kept.add_dense(level, vectors.largest(levels.lengths(level)))
        elif any(above in gone for above in range(level)):
            kept.add_ragged(level, vectors.scan(_longest(levels, level, kept)))
        else:
            kept.add_ragged(level, levels.offsets[level])
    return kept


def _longest(levels: _Levels, level: int, kept: _Kept) -> ir.Value:
    """For the kept indices of a level's parents the length of the longest of them."""
    lengths, above = levels.lengths(level), level - 1
    if levels.letters[above] == "r" and kept.levels == [*range(above)]:
        offsets = levels.offsets[above]  # these parents are side by side as it is
    else:
        places = _places(levels, above, kept)
        offsets, lengths = builders.offsets(places, 1), vectors.gather(lengths, builders.values(places))
    lists = levels.trace.assembled(lengths, [NestedAxis("dr", [offsets], [None, None])], INT64)
    none = shapes.fill(constant(INT64, 0), empty([PlainAxis(None)], [(lists, 0)], INT64))
    out = (none, INT64, [PlainAxis(None)], [0])
    return compute(levels.trace, [(lists, [0, 1])], [out], 2, frozenset({1}), lambda e: [arith.maxsi(*e)])[0].storage


def _places(levels: _Levels, level: int, kept: _Kept) -> ir.Value:
    """For every position of kept indices those of a level that have them, in order."""
    levels.prepare(level)
    keys = vectors.generate(levels.count(level), lambda at: kept.position(levels.indices(level, at)))
    return known(builders.group_by(keys, build.value(kept.count)))
