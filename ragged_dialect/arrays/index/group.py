"""Elements in another order: those that a reduction combines though levels below stay, one after the other.

Reducing dim 0 or 1 of a list of lists combines the elements at equal indices of the dims that stay, as
TensorFlow does. Grouped, such elements are the components of an innermost ragged dim, in the order of
the list of lists: every reduction, softmax and scan of that dim does what is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.arrays.index.rows import take_rows
from ragged_dialect.arrays.tracing.axes import NestedAxis
from ragged_dialect.arrays.tracing.elements import INT64
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED
from ragged_dialect.types import vector_type


@dataclass(frozen=True)
class _Move:
    """A storage axis in another order: the source of every position, and where each source goes."""

    number: int
    order: ir.Value
    slots: ir.Value


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
            made = take_rows(made, move.number, move.slots, self.source.axes[move.number])
        return made

    def indices(self, dim: int) -> tuple[Tensor, range]:
        """For every grouped element its index of a dim of the one axis that is in another order, int64, and
        the dims of that axis in the grouped tensor."""
        (move,) = self.moves
        axis, first = self.source.axes[move.number], self.source.layout.dims(move.number)[0]
        assert isinstance(axis, NestedAxis)
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
        level not in gone and any(above < level and _is_ragged(letter, axis.letters[above]) for above in gone)
        for level, letter in enumerate(axis.letters)
    )


def _is_ragged(*letters: str) -> bool:
    return any(letter in RAGGED for letter in letters)


def grouped(x: Tensor, dims: frozenset[int], *, folds: bool = False) -> Grouped:
    """`x`, without windows and tiles, with the elements that a reduction of `dims` combines side by side;
    itself where levels stay with their parents. What only `folds` them, and needs none in the order of the source,
    has those of all pairs computed so."""
    if folds and x.turned is not None and 1 in dims and dims.isdisjoint((0, 2)):
        return Grouped(x, x.turned(), dims - {1} | {2})
    value, found, moves = x, set[int](), list[_Move]()
    first = 0
    for number, axis in enumerate(x.axes):
        own = x.layout.dims(number)
        gone = frozenset(d - own[0] for d in own if d in dims)
        if isinstance(axis, NestedAxis) and leaves_children(axis, gone):
            made, order, slots = _regrouped(_Levels(x, number, axis), gone)
            value = take_rows(value, number, order, made)
            moves.append(_Move(number, order, slots))
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


def _regrouped(levels: _Levels, gone: frozenset[int]) -> tuple[NestedAxis, ir.Value, ir.Value]:
    """The axis of grouped elements, the source of every one of them, and where each source goes."""
    kept = _kept(levels, gone)
    last = len(levels.letters) - 1
    total = levels.count(last)
    keys = _keys(levels, last, kept)
    counts = _folded(keys, total, kept.count, lambda old, _: build.add(old, 1))
    offsets = vectors.scan(counts)
    order, slots = _sorted(keys, total, offsets)
    letters = f"{kept.letters}r"
    first = None if letters[1] == "r" else kept.extents[0]
    return NestedAxis(letters, [*kept.vectors, offsets], [first, *kept.extents[1:], None]), order, slots


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
    lengths, parents = levels.lengths(level), levels.count(level - 1)
    keys = _keys(levels, level - 1, kept)
    return _folded(keys, parents, kept.count, lambda old, at: build.maximum(old, shapes.load(lengths, at)))


def _keys(levels: _Levels, level: int, kept: _Kept) -> ir.Value:
    """For every position of a level the one of its kept indices."""
    levels.prepare(level)
    return vectors.generate(levels.count(level), lambda at: kept.position(levels.indices(level, at)))


def _folded(keys: ir.Value, total: Mixed, count: Mixed, fold: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
    """A vector of `count` numbers, from 0 on; position i changes number `keys[i]`."""

    def body(at: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        key = shapes.load(keys, at)
        made = fold(shapes.load(state[0], key), at)
        return [tensor.insert(build.to_i64(made), state[0], [key])]

    empty = shapes.empty([build.value(count)], build.i64())
    init = shapes.cast(shapes.fill(build.constant(build.i64(), 0), empty), vector_type())
    return flow.for_loop(total, [init], body)[0]


def _sorted(keys: ir.Value, total: Mixed, offsets: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Positions in the order of their keys, and where each one is in it; equal keys stay in order."""

    def body(at: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        ends, order, slots = state
        key = shapes.load(keys, at)
        slot = shapes.load(ends, key)
        ends = tensor.insert(build.to_i64(build.add(slot, 1)), ends, [key])
        return [ends, tensor.insert(build.to_i64(at), order, [slot]), tensor.insert(build.to_i64(slot), slots, [at])]

    ends = vectors.section(offsets, 0, build.sub(shapes.dim(offsets, 0), 1))
    rows = [shapes.cast(shapes.empty([build.value(total)], build.i64()), vector_type()) for _ in range(2)]
    _, order, slots = flow.for_loop(total, [ends, *rows], body)
    return order, slots
