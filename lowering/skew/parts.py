"""Reductions and scans along the rows of one component, in parts of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.generic import count_from, filled, generic, indexing_maps, input_count, iterator_kinds
from ragged_dialect.ir import build, flow, memory, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.ir.match import terminator
from ragged_dialect.ir.walk import captures, makers
from ragged_dialect.lowering.buffers.subviews import (
    extent,
    extent_key,
    inner_size,
    is_buffer,
    plain_dim,
    range_view,
    size_key,
)
from ragged_dialect.lowering.nests.combiners import Combiner, find_combiner
from ragged_dialect.lowering.nests.forall_bounds import inside_forall
from ragged_dialect.lowering.nests.partial_reductions import allocated, combine, part, starts

_AT_ONCE = 128
"""Parts of a scan that are reduced before they are scanned: 2,097,152 elements, which the last cache of most processors
holds. Running sums of 64,000,000 float32 take 0.8 of the time so on one thread of a Zen 5, 0.9 on two; groups that the
second caches of the threads hold cost as much in waiting for each other."""


@dataclass(frozen=True)
class Parts:
    """A generic that reduces along rows: its loop over these, and what combines the parts of the outs that it reduces,
    by their numbers. It is a scan where it `runs`: outs that have something for every row depend on those."""

    op: ir.Operation
    loop: int
    combiners: dict[int, Combiner]
    runs: bool

    @staticmethod
    def of(op: ir.Operation, length: ir.Value) -> Parts | None:
        """What an op reduces along as many rows; None where parts of that cannot be combined."""
        if op.name != "linalg.generic":
            return None
        kinds = iterator_kinds(op)
        loops = [d for d, kind in enumerate(kinds) if kind == "reduction" and is_along(op, d, length)]
        return Parts.over(op, loops[0]) if len(loops) == 1 else None

    @staticmethod
    def over(op: ir.Operation, loop: int) -> Parts | None:
        """What a generic reduces along a loop; None where parts of that cannot be combined."""
        maps = indexing_maps(op)
        if any(plain_dim(map_, loop) is None for map_ in maps):
            return None
        outs = range(input_count(op), len(maps))
        reduced = [number for number in outs if plain_dim(maps[number], loop) == -1]
        arguments = list(op.regions[0].blocks[0].arguments)
        rows = [number for number in outs if number not in reduced]
        runs = _reads(op, rows, reduced)
        beside: list[ir.Operation] = []
        if runs:  # what gives the outs of rows is not done for the parts
            if _reads(op, reduced, rows):
                return None
            needed = _needed(op, reduced)
            beside = [o.operation for o in op.regions[0].blocks[0].operations if o.operation not in needed]
        combiners: dict[int, Combiner] = {}
        for number in reduced:
            found = find_combiner(arguments[number], yielded(op, number), beside)
            if found is None or not maps[number].is_projected_permutation or (runs and found.is_product):
                return None
            combiners[number] = found
        return Parts(op, loop, combiners, runs) if combiners else None

    def share(self, length: ir.Value, elements: int) -> None:
        """Replace the op by one for each part of the rows, and one that combines what is left of them."""
        rows = self.rows_of(elements)
        with ir.InsertionPoint(self.op), self.op.location:
            tiles = build.ceildiv(length, rows)
            if self.runs:
                self._scan(tiles, rows, length)
            else:
                rooms = self.rooms(tiles)
                self.each(tiles, rows, length, rooms)
                self.combine(rooms)
        self.op.erase()

    def _scan(self, tiles: ir.Value, rows: int, length: ir.Value) -> None:
        """A scan part by part, each from what is left of those before it, which are reduced first: as many parts at a
        time as a cache holds, so that rows come from memory once."""
        most = build.value(build.minimum(tiles, _AT_ONCE))
        rooms = self.rooms(most)

        def some(first: ir.Value, _: list[ir.Value]) -> None:
            count = build.minimum(most, build.sub(tiles, first))
            held = {number: range_view(room, 0, 0, count) for number, room in rooms.items()}
            self.each(count, rows, length, held, first=first)
            for number, combiner in self.combiners.items():
                starts(combiner, held[number], self.op.operands[number])
            self.each(count, rows, length, held, first=first, scan=True)

        flow.strided(0, most, tiles, [], some)

    def rows_of(self, elements: int) -> int:
        """Rows of a part, which has so many elements of the widest operand."""
        places = zip(self.op.operands, self._dims, strict=True)
        return max(1, elements // max(inner_size(x, dim or 0) for x, dim in places if dim != -1))

    @property
    def _dims(self) -> list[int | None]:
        """Which dim of each operand rows are along: -1 where none is."""
        return [plain_dim(map_, self.loop) for map_ in indexing_maps(self.op)]

    def rooms(self, tiles: Mixed) -> dict[int, ir.Value]:
        """Room for what is left of as many parts, by the numbers of the outs."""
        return {number: allocated(tiles, self.op.operands[number]) for number in self.combiners}

    def combine(self, rooms: dict[int, ir.Value]) -> None:
        """Put what is left of the parts together in the outs."""
        for number, combiner in self.combiners.items():
            combine(combiner, rooms[number], self.op.operands[number])

    def one(
        self,
        tile: ir.Value,
        low: Mixed,
        operands: Sequence[ir.Value],
        rooms: dict[int, ir.Value],
        *,
        scan: bool = False,
    ) -> None:
        """One part, on the rows of the operands, which are those from `low` on: the op from the neutral elements, which
        leaves what is reduced in its place in the rooms, or the scan from what that holds."""
        operands = list(operands)
        for number, room in rooms.items():
            x = self.op.operands[number]
            # Of its own: two parts in one cache line would go from core to core.
            operands[number] = memory.room([extent(x, k) for k in range(x.type.rank)], x.type.element_type)
            if scan:
                shapes.copy(part(room, tile), operands[number])
            else:
                filled(self.combiners[number].identity(), operands[number])
        if self.runs and not scan:
            made = _only(self.op, list(rooms), operands)
        else:
            made = self.op.clone().operation
            for number, x in enumerate(operands):
                made.operands[number] = x
        count_from(made, build.value(low), self.loop)
        if not scan:
            for number, room in rooms.items():
                shapes.copy(operands[number], part(room, tile))

    def cut(self, low: Mixed, size: Mixed) -> list[ir.Value]:
        """The operands, of which only some rows are left."""
        return cut_rows(self.op, self.loop, low, size)

    def each(
        self, tiles: Mixed, rows: int, length: ir.Value, rooms: dict[int, ir.Value], *, first: Mixed = 0,
        scan: bool = False, then: Callable[[ir.Value, Mixed, Mixed], None] | None = None,
    ) -> None:  # fmt: skip
        """A forall over parts of rows from one on, which does `then` something with each: its number, its first row and
        how many it has."""
        with inside_forall(tiles) as (_, tile):
            low = build.mul(build.add(tile, first), rows)
            size = build.minimum(rows, build.sub(length, low))
            self.one(tile, low, self.cut(low, size), rooms, scan=scan)
            if then is not None:
                then(tile, low, size)


def is_cut(op: ir.Operation, length: ir.Value) -> bool:
    """Whether a flat op is cut into chunks of rows where it stands on the host."""
    return (op.name != "linalg.generic" or iterator_kinds(op)[0] == "parallel") and is_along(op, 0, length)


def is_along(op: ir.Operation, loop: int, length: ir.Value) -> bool:
    """Whether a loop of an op has as many iterations as a component has rows."""
    return any(dim is not None and dim >= 0 and dim in dims_of(x, length) for x, dim in _places(op, loop))


def dims_of(x: ir.Value, length: Mixed) -> list[int]:
    """The dims of a buffer that rows are along."""
    return [k for k in range(x.type.rank) if extent_key(x, k) == size_key(length)] if is_buffer(x) else []


def cut_rows(op: ir.Operation, loop: int, low: Mixed, size: Mixed) -> list[ir.Value]:
    """The operands of a generic, of which only some rows along a loop are left."""
    return [x if dim is None or dim < 0 else range_view(x, dim, low, size) for x, dim in _places(op, loop)]


def _places(op: ir.Operation, loop: int) -> list[tuple[ir.Value, int | None]]:
    """The operands of an op, and the dims that a loop is along."""
    return [(x, plain_dim(map_, loop)) for x, map_ in zip(op.operands, indexing_maps(op), strict=True)]


def yielded(op: ir.Operation, number: int) -> ir.Value:
    """What a generic yields for an out, by the number of its operand."""
    return terminator(op.regions[0].blocks[0]).operands[number - input_count(op)]


def _needed(op: ir.Operation, outs: Sequence[int]) -> list[ir.Operation]:
    """The ops of a body that what it yields for some outs needs."""
    return makers([yielded(op, number) for number in outs], [o.operation for o in op.regions[0].blocks[0].operations])


def _reads(op: ir.Operation, outs: Sequence[int], others: Sequence[int]) -> bool:
    """Whether what a body yields for some outs needs what there is of others."""
    arguments = [op.regions[0].blocks[0].arguments[number] for number in others]
    needed = [*(yielded(op, number) for number in outs), *captures(_needed(op, outs))]
    return any(value in arguments for value in needed)


def _only(op: ir.Operation, outs: list[int], operands: list[ir.Value]) -> ir.Operation:
    """A generic of what an op does for some of its outs, on other operands."""
    kept = [*range(input_count(op)), *outs]
    maps = [indexing_maps(op)[number] for number in kept]

    def body(elements: list[ir.Value]) -> list[ir.Value]:
        arguments = op.regions[0].blocks[0].arguments
        known: ValueMap = {arguments[number]: x for number, x in zip(kept, elements, strict=True)}
        for inner in _needed(op, outs):
            clone(inner, known)
        return [known[yielded(op, number)] for number in outs]

    ins = operands[: input_count(op)]
    return generic(ins, [operands[number] for number in outs], maps, iterator_kinds(op), body)
