"""The first few of a segment in order (a partial sort): what is not below the last of those that were found so far is
left out as soon as it is read, which most of a long segment is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragged_dialect._mlir import arith, ir, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.memory import room
from ragged_dialect.lowering.sorting.merge_sort import MergeSort, is_ordered
from ragged_dialect.lowering.vector.lanes import first_lanes, number_of, splat, store_lanes

LIMIT = 1024
"""The most elements that are found so. Candidates, with their numbers and room to merge them, have 150 KB then, which
second caches hold."""

_BLOCKS = 64, 512
"""The fewest and the most elements of a block: so many of a segment are sorted before there is a bound. Between them
it is 16 times the limit. On a Zen 5 core, of 1,000 segments of 1,000 float32, one element takes 0.95 ms with blocks of
64 and 1.1 with 128, eight 2.9 and 2.3, a hundred 7 with either and 6 with 512."""

_ROOM = 512
"""Candidates that there is room for: more are seldom sorted again, but are slow to get rid of (256 and 512 take as
long, and 192 up to 1.5 times)."""


@dataclass(frozen=True)
class PartialSort:
    """A sort of the first `limit` elements of segments; `candidates` are buffers of those that may be among them."""

    sort: MergeSort
    candidates: MergeSort
    limit: int
    block: int
    room: int

    @staticmethod
    def of(sort: MergeSort, limit: int) -> PartialSort:
        """That of what a sort sorts."""
        run = sort.block * sort.lanes
        fewest, most = _BLOCKS
        block = -(-max(fewest, min(16 * limit, most), limit) // run) * run
        size = max(_ROOM, 3 * block)
        buffers = [room([size], sort.element) for _ in sort.sources]
        places = [room([2 * size], sort.element) for _ in sort.sources]
        return PartialSort(sort, replace(sort, sources=buffers, places=places), limit, block, size)

    def write(self, out: ir.Value, first: ir.Value, length: ir.Value) -> None:
        """Put the first elements of a segment, as many as there are, where it begins in `out`."""
        none = [build.constant(self.sort.element, 0) for _ in self.sort.sources]

        def read(begin: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
            end = build.value(build.minimum(build.add(begin, self.block), length))
            is_first = build.equal(begin, 0)
            count = self._gather(first, begin, end, is_first, state)
            is_full = arith.ori(is_first, build.more(count, self.room - self.block))
            is_due = arith.ori(is_full, build.equal(end, length))
            types = [count.type, *(x.type for x in none)]
            return flow.choose(is_due, lambda: self._settle(count), lambda: [count, *state[1:]], types)

        count = flow.strided(0, self.block, length, [build.value(0), *none], read)[0]

        def put(at: ir.Value, _: list[ir.Value]) -> None:
            row = self.candidates.whole(self.candidates.sources, at)
            left = build.value(build.sub(count, at))
            store_lanes(row[-1], out, [build.add(first, at)], first_lanes(left, self.sort.lanes))

        flow.strided(0, self.sort.lanes, count, [], put)

    def _gather(
        self, first: ir.Value, begin: ir.Value, end: ir.Value, is_first: ir.Value, state: list[ir.Value]
    ) -> ir.Value:
        """Add what is below the bound to the candidates, of the first block all; how many there are then."""
        lanes, buffers = self.sort.lanes, self.candidates.sources
        count, *bound = state
        bounds = [splat(x, lanes) for x in bound]

        def step(at: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            left = build.value(build.sub(end, at))
            row = self.sort.taken(build.add(first, at), left)[0]

            def whole() -> list[ir.Value]:
                for value, buffer in zip(row, buffers, strict=True):
                    vector.store(value, buffer, carried)
                return [build.value(build.add(carried[0], build.minimum(left, lanes)))]

            def some() -> list[ir.Value]:
                below = is_ordered(row, bounds, build.less)
                any_ = vector.reduction(below.type.element_type, ir.Attribute.parse("#vector.kind<or>"), below)
                return flow.choose(any_, lambda: packed(below), lambda: carried, [carried[0].type])

            def packed(below: ir.Value) -> list[ir.Value]:
                for value, buffer in zip(row, buffers, strict=True):
                    vector.compressstore(buffer, carried, below, value)
                return [build.value(build.add(carried[0], number_of(below)))]

            return flow.choose(is_first, whole, some, [carried[0].type])

        return flow.strided(begin, lanes, end, [count], step)[0]

    def _settle(self, count: ir.Value) -> list[ir.Value]:
        """Sort the candidates and keep the first ones: how many these are, and the last of them, the new bound."""
        kept = build.value(build.minimum(count, self.limit))
        made = self.candidates.sorted(build.value(0), count, build.value(0), build.value(self.room))

        def back(at: ir.Value, _: list[ir.Value]) -> None:
            row = self.candidates.load(build.add(made, at))
            for value, buffer in zip(row, self.candidates.sources, strict=True):
                vector.store(value, buffer, [at])

        flow.strided(0, self.sort.lanes, kept, [], back)
        return [kept, *self.candidates.head(build.value(build.add(made, build.sub(kept, 1))))]
