"""A merge sort whose merges have registers where scalar ones have numbers.

Some registers are sorted by a bitonic network. Two that are become the lower and the upper half of their elements where
one of them is turned round and compared, and a network puts each half in order. A merge of two runs keeps the upper
half, and reads a register of the run whose next element is less: no branch depends on what is sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ragged_dialect._mlir import arith, ir, memref, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import byte_size
from ragged_dialect.lowering.vector.lanes import first_lanes, lanes_type, splat, turned

Row = list[ir.Value]
"""Some elements side by side, a register or a number: those of the keys, and then those of the numbers, if any."""


@dataclass(frozen=True)
class MergeSort:
    """A sort of integers of a type, by buffers of keys and perhaps of numbers, with so many lanes in a register, and
    runs of `block` registers to begin with, which a network sorts."""

    sources: list[ir.Value]
    places: list[ir.Value]
    element: ir.Type
    lanes: int
    block: int

    def sorted(self, first: ir.Value, length: ir.Value, start: ir.Value, other: ir.Value) -> ir.Value:
        """Sort what is in the sources, in the buffers from one place on and from another one on; where it is then. The
        last register has the largest numbers behind the last element, which stay there, and so do those behind it, of
        which there is room for a whole block."""
        end = build.value(build.mul(build.ceildiv(length, self.lanes), self.lanes))

        def block(at: ir.Value, _: list[ir.Value]) -> None:
            rows = self.taken(build.add(first, at), build.value(build.sub(length, at)), self.block)
            for i, row in enumerate(self.ordered(rows)):
                self._store(row, build.add(start, build.add(at, i * self.lanes)))

        flow.strided(0, self.block * self.lanes, end, [], block)

        def merged(state: list[ir.Value]) -> list[ir.Value]:
            run, source, target = state
            pair = build.value(build.mul(run, 2))

            def merge(low: ir.Value, _: list[ir.Value]) -> None:
                middle, high = (build.value(build.minimum(build.add(low, x), end)) for x in (run, pair))
                self._merge(source, target, low, middle, high)

            flow.strided(0, pair, end, [], merge)
            return [pair, target, source]

        state = [build.value(self.block * self.lanes), start, other]
        return flow.repeat(state, lambda state: build.less(state[0], end), merged)[1]

    def _merge(self, source: ir.Value, target: ir.Value, low: ir.Value, middle: ir.Value, high: ir.Value) -> None:
        """Two runs that follow each other into one, or a single one as it is."""

        def copy(at: ir.Value, _: list[ir.Value]) -> None:
            self._store(self.load(build.add(source, at)), build.add(target, at))

        def alone() -> None:
            flow.strided(low, self.lanes, high, [], copy)

        def both() -> None:
            """From both ends at once: neither waits for the other one. They meet in the middle."""
            ends = [_Front(self, source, low, middle, high), _Back(self, source, low, middle, high)]
            half = build.ceildiv(build.value(build.sub(high, low)), 2)
            steps = build.ceildiv(half, self.lanes)

            def step(number: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
                size, following = len(state) // 2, list[ir.Value]()
                further = build.mul(number, self.lanes)
                for end, own in zip(ends, (state[:size], state[size:]), strict=True):
                    done, rest = end.step(own)
                    self._store(done, build.add(target, end.place(further)))
                    following += rest
                return following

            flow.for_loop(steps, [*ends[0].begin(), *ends[1].begin()], step)

        flow.choose(build.less(middle, high), both, alone, [])

    # Registers ---------------------------------------------------------------------------------------

    def taken(self, at: ir.Value, left: Mixed, count: int = 1) -> list[Row]:
        """Registers of the sources, of which so many elements are left."""
        if self.lanes == 1:
            return [[memref.load(source, [at]) for source in self.sources]]
        most = build.constant(self.element, np.iinfo(f"int{8 * byte_size(self.element)}").max)
        type_, starts = lanes_type(self.lanes, self.element), range(0, count * self.lanes, self.lanes)

        def some() -> Row:
            masks = [first_lanes(build.sub(left, start), self.lanes) for start in starts]
            rest = splat(most, self.lanes)
            return [
                vector.maskedload(type_, source, [build.add(at, start)], mask, rest)
                for start, mask in zip(starts, masks, strict=True)
                for source in self.sources
            ]

        def all_() -> Row:
            return [x for start in starts for x in self.whole(self.sources, build.value(build.add(at, start)))]

        width = len(self.sources)
        if isinstance(left, int):
            made = all_() if left >= count * self.lanes else some()
        else:
            made = flow.choose(build.at_least(left, count * self.lanes), all_, some, [type_] * (count * width))
        return [made[i : i + width] for i in range(0, len(made), width)]

    def whole(self, buffers: list[ir.Value], at: ir.Value) -> Row:
        """A register of some buffers."""
        return [vector.load(lanes_type(self.lanes, self.element), buffer, [at]) for buffer in buffers]

    def load(self, at: ir.Value) -> Row:
        """A register of the buffers."""
        return self.head(at) if self.lanes == 1 else self.whole(self.places, at)

    def _store(self, row: Row, at: ir.Value) -> None:
        for value, place in zip(row, self.places, strict=True):
            if self.lanes == 1:
                memref.store(value, place, [at])
            else:
                vector.store(value, place, [at])

    def head(self, at: ir.Value) -> Row:
        """An element of the buffers."""
        return [memref.load(place, [at]) for place in self.places]

    def ordered(self, rows: list[Row]) -> list[Row]:
        """The elements of some registers, a power of two of them, in order: sorted pairs, then fours, … of which the
        second one is turned round. Until the end neighbours are in one lane of two registers, which are compared
        without moving them."""
        size = 2
        while size <= self.lanes * len(rows):
            rows = self._exchanged(rows, size - 1)
            rows = self._settled(rows, size // 4)
            size *= 2
        return self._interleaved(rows)

    def halves(self, one: Row, two: Row) -> tuple[Row, Row]:
        """The lower and the upper half of the elements of two registers, each of which is in order."""
        if self.lanes == 1:
            return _sorted(one, two)
        less, more = _sorted(one, [turned(x) for x in two])
        return self._settled([less], self.lanes // 2)[0], self._settled([more], self.lanes // 2)[0]

    def _settled(self, rows: list[Row], distance: int) -> list[Row]:
        """Elements in order, of which those so far apart are compared first, and then those half as far."""
        while distance:
            rows = self._exchanged(rows, distance)
            distance //= 2
        return rows

    def _exchanged(self, rows: list[Row], bits: int) -> list[Row]:
        """Elements in order with those whose number differs in some bits, of which the highest one says which is the
        lower one. Numbers go over the registers, and then over their lanes."""
        across, apart = divmod(bits, len(rows))
        top = 1 << (across or apart).bit_length() - 1

        def lane_of(lane: int) -> int:
            return self.lanes + lane if lane & top else lane

        made: list[Row] = []
        for i, row in enumerate(rows):
            other = rows[i ^ apart]
            if across:
                less, more = _sorted(row, [_shuffled(x, x, lambda lane: lane ^ across) for x in other])
                made.append([_shuffled(a, b, lane_of) for a, b in zip(less, more, strict=True)])
            else:
                made.append(_sorted(other, row)[1] if i & top else _sorted(row, other)[0])
        return made

    def _interleaved(self, rows: Sequence[Row]) -> list[Row]:
        """Registers in the order of memory: the first lane of each, then the second one, …."""
        if len(rows) == 1:
            return [*rows]
        half, made = self.lanes // 2, list[Row]()
        pairs = zip(self._interleaved(rows[::2]), self._interleaved(rows[1::2]), strict=True)
        for one, two in pairs:
            for first in (0, half):
                made.append(
                    [
                        _shuffled(a, b, lambda lane, first=first: first + lane // 2 + self.lanes * (lane % 2))
                        for a, b in zip(one, two, strict=True)
                    ]
                )
        return made


@dataclass(frozen=True)
class _End:
    """One end of a merge of two runs, from `low` to `middle` and from there to `high`. Its state is the next register
    of each, and what is to be merged: what was left of the last merge, and a register."""

    sort: MergeSort
    source: ir.Value
    low: ir.Value
    middle: ir.Value
    high: ir.Value

    def _rows(self, one: Mixed, two: Mixed) -> Row:
        return [*self.sort.load(build.add(self.source, one)), *self.sort.load(build.add(self.source, two))]

    def _moved(self, state: list[ir.Value], from_one: ir.Value, within: Mixed, by: int, rest: Row) -> list[ir.Value]:
        one, two = state[:2]
        limit = build.value(within)
        chosen: ir.Value = arith.select(from_one, one, two)
        further = build.value(build.add(chosen, by))
        limited = build.minimum(chosen, limit) if by > 0 else build.maximum(chosen, limit)
        row = self.sort.load(build.add(self.source, limited))
        return [arith.select(from_one, further, one), arith.select(from_one, two, further), *rest, *row]


class _Front(_End):
    """The lower end."""

    def place(self, further: Mixed) -> Mixed:
        """Where a step puts what is in order."""
        return build.add(self.low, further)

    def begin(self) -> list[ir.Value]:
        """The state before the first step."""
        lanes = self.sort.lanes
        return [build.add(self.low, lanes), build.add(self.middle, lanes), *self._rows(self.low, self.middle)]

    def step(self, state: list[ir.Value]) -> tuple[Row, list[ir.Value]]:
        """The lower half of two registers, and what is left with the register that begins with less."""
        width, lanes = len(self.sort.places), self.sort.lanes
        one, two, *rows = state
        less, more = self.sort.halves(rows[:width], rows[width:])
        last = build.sub(self.high, lanes)
        first, second = (self.sort.head(build.add(self.source, build.minimum(x, last))) for x in (one, two))
        is_less = arith.ori(build.at_least(two, self.high), is_ordered(first, second))
        return less, self._moved(state, arith.andi(build.less(one, self.middle), is_less), last, lanes, more)


class _Back(_End):
    """The upper end."""

    def place(self, further: Mixed) -> Mixed:
        """Where a step puts what is in order."""
        return build.sub(build.sub(self.high, self.sort.lanes), further)

    def begin(self) -> list[ir.Value]:
        """The state before the first step."""
        lanes = self.sort.lanes
        last = [build.sub(x, lanes) for x in (self.middle, self.high)]
        return [*(build.value(build.sub(x, lanes)) for x in last), *self._rows(*last)]

    def step(self, state: list[ir.Value]) -> tuple[Row, list[ir.Value]]:
        """The upper half of two registers, and what is left with the register that ends with more."""
        width, lanes = len(self.sort.places), self.sort.lanes
        one, two, *rows = state
        less, more = self.sort.halves(rows[:width], rows[width:])
        ends = [build.add(build.maximum(x, self.low), lanes - 1) for x in (two, one)]
        second, first = (self.sort.head(build.add(self.source, end)) for end in ends)
        is_more = arith.ori(build.less(two, self.middle), is_ordered(second, first))
        return more, self._moved(state, arith.andi(build.at_least(one, self.low), is_more), self.low, -lanes, less)


def _shuffled(a: ir.Value, b: ir.Value, lane_of: Callable[[int], int]) -> ir.Value:
    """A register of lanes of two."""
    return vector.shuffle(a, b, [lane_of(lane) for lane in range(a.type.shape[0])])


def is_ordered(one: Row, two: Row, last: Callable[[ir.Value, ir.Value], ir.Value] = build.at_most) -> ir.Value:
    """Where elements come before others, or, but for another comparison of the `last` column, are the same, the first
    column first."""
    if len(one) == 1:
        return last(one[0], two[0])
    below = build.less(one[0], two[0])
    tied = build.equal(one[0], two[0])
    return arith.ori(below, arith.andi(tied, last(one[1], two[1])))


def _sorted(one: Row, two: Row) -> tuple[Row, Row]:
    """The lower ones and the upper ones of pairs of elements."""
    if len(one) == 1:
        return [arith.minsi(one[0], two[0])], [arith.maxsi(one[0], two[0])]
    ordered = is_ordered(one, two)
    pairs = list(zip(one, two, strict=True))
    return [arith.select(ordered, a, b) for a, b in pairs], [arith.select(ordered, b, a) for a, b in pairs]
