"""The tile of a block on the merge path: the parts of its groups, and what is carried from one to the next."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.gpu.kernel.combiner import sums_of
from ragged_dialect.lowering.gpu.kernel.exchange import Exchange
from ragged_dialect.lowering.gpu.kernel.slots import keep, load
from ragged_dialect.lowering.gpu.kernel.thread_loops import conjunction, guarded
from ragged_dialect.lowering.gpu.segmented.component_code import ComponentCode
from ragged_dialect.lowering.gpu.segmented.row_walk import Piece, RowWalk, State
from ragged_dialect.lowering.gpu.segmented.warp_search import ended_by_warp
from ragged_dialect.lowering.nests.exact_sums import loop_with_sums
from ragged_dialect.lowering.search import ended


class MergedItems:
    """The sequence of `count` components, at the insertion point: rows and component ends merged into one, which is cut
    into equal tiles (Merrill and Garland, Merge-based Parallel Sparse Matrix-Vector Multiplication, 2016).

    Item by item the sequence has the rows of component 0, its end, the rows of component 1, its end, …
    A row and an end cost about the same, so equal tiles are equal work, whether components are long,
    short or empty. The end of component c is item `high(c) + c`, its first row (or its end, when it is
    empty) item `low(c) + c`, where rows count from the first component's first one.
    """

    def __init__(self, code: ComponentCode, count: ir.Value) -> None:
        self.code = code
        self.count = count
        self.base = code.low(build.value(0))
        self.rows_end = code.low(count)

    def start(self, component: ir.Value) -> ir.Value:
        """The item of a component's first row; also for the one after the last."""
        return arith.addi(arith.subi(self.code.low(component), self.base), component)

    def end(self, component: ir.Value) -> ir.Value:
        """The item of a component's end."""
        return arith.addi(arith.subi(self.code.high(component), self.base), component)

    def row(self, item: ir.Value, component: ir.Value) -> ir.Value:
        """The first row from an item on, given how many components end before it."""
        row: ir.Value = arith.addi(self.base, arith.subi(item, component))
        return build.minimum(row, self.rows_end)


@dataclass(frozen=True)
class Place:
    """Where a thread is: its tile, its number in the block, that in the tile, which may have several
    blocks, and its group; the first item of the tile, the items of a group, and of all tiles."""

    tile: ir.Value
    thread: ir.Value
    number: Mixed
    group: ir.Value
    first: ir.Value
    size: ir.Value
    total: ir.Value

    def item(self, group: Mixed) -> ir.Value:
        """The first item of a group's piece; for the one after the last group, where the last one ends."""
        return arith.minsi(arith.addi(self.first, arith.muli(build.value(group), self.size)), self.total)

    def group_of(self, item: ir.Value) -> ir.Value:
        """The group that has an item; the first one for items of earlier tiles."""
        return arith.divui(build.maximum(arith.subi(item, self.first), 0), self.size)


@dataclass(frozen=True)
class Tile:
    """The work of a thread in a tile. `conditions` hold for threads that have features."""

    walk: RowWalk
    items: MergedItems
    exchange: Exchange
    place: Place
    conditions: list[ir.Value]

    def emit(self, starts: ir.Value, carries: list[ir.Value]) -> None:
        """Emit the work: finish every component that ends here, without what earlier tiles have of it;
        store which component is open at the start, and for every out what this tile's end leaves
        open."""
        place, groups = self.place, self.walk.lanes.groups
        lane = arith.remui(place.thread, build.value(DEVICE.warp))
        low, high = ended_by_warp(self.items.end, self.items.count, [place.item(0), place.item(groups)], lane)
        guarded([build.equal(place.number, 0)], lambda: memref.store(build.to_i64(low), starts, [place.tile]))
        begin, end = place.item(place.group), place.item(arith.addi(place.group, build.value(1)))
        component, last = ended(self.items.end, [begin, end], low, high)
        piece = Piece(self.items.row(begin, component), component, self.items.row(end, last), last)
        open_ = self._guarded_walk(piece)
        if groups > 1:
            self._pass_on(piece, begin, open_)
        self._leave_open(open_, high, carries)

    def _guarded_walk(self, piece: Piece) -> State:
        def walk() -> State:
            last: ir.Value = arith.subi(self.items.count, build.value(1))
            place = build.minimum(piece.component, last)
            return self.walk.walk(piece, self.items.code.high(place))

        neutral = self.walk.neutral()
        busy = conjunction([build.less(0, self.items.count), *self.conditions])
        return flow.choose(busy, walk, lambda: neutral, [x.type for x in neutral])

    def _pass_on(self, piece: Piece, begin: ir.Value, open_: State) -> None:
        """Groups in which a component ends that earlier ones have left open add what those have."""
        slots = self.exchange.slots.of([x.type for x in open_])
        for value, slot in zip(open_, slots, strict=True):
            keep(value, slot, self.exchange.thread)
        self.exchange.barriers.wait()
        ends = build.less(piece.component, piece.last_component)
        later = build.less(0, self.place.group)

        def add() -> None:
            start = self.items.start(piece.component)
            guarded([build.less(start, begin)], lambda: self._collect(piece.component, start, open_, slots))

        guarded([ends, later, *self.conditions], add)

    def _collect(self, component: ir.Value, start: ir.Value, open_: State, slots: list[ir.Value]) -> None:
        lanes = self.walk.lanes.lanes
        back = arith.subi(self.place.thread, arith.muli(self.place.group, build.value(lanes)))

        def step(group: ir.Value, carried: State) -> State:
            at = arith.addi(back, arith.muli(group, build.value(lanes)))
            parts = [load(slot, at, x.type) for slot, x in zip(slots, open_, strict=True)]
            return self.walk.combined(parts, carried)

        sums = sums_of(self.walk.owners(self.walk.original))
        collected = loop_with_sums(self.place.group_of(start), 1, self.place.group, self.walk.neutral(), sums, step)
        self.walk.store(component, collected, first=False)

    def _leave_open(self, open_: State, high: ir.Value, carries: list[ir.Value]) -> None:
        """Store what the groups since the last component's start have: all of it for the component
        that is open at the end."""
        lanes = self.walk.lanes
        known = build.minimum(high, self.items.count)
        since = self.place.group_of(self.items.start(known))
        mine = conjunction([build.at_most(since, self.place.group), *self.conditions])
        parts = [arith.select(mine, x, y) for x, y in zip(open_, self.walk.neutral(), strict=True)]
        owners = self.walk.owners(self.walk.original)
        if lanes.groups > 1:
            self.exchange.barriers.wait()
            parts = self.exchange.combine(parts, [c.apply for c in owners], [(lanes.lanes, lanes.groups)])
        guarded([build.equal(self.place.group, 0), *self.conditions], lambda: self._store(parts, carries))

    def _store(self, parts: State, carries: list[ir.Value]) -> None:
        generic, width = self.walk.original.generic, self.walk.lanes.width
        for out, buffer in enumerate(carries):
            for lane, part in enumerate(parts[out * width : (out + 1) * width]):
                point = list(self.walk.at)
                if self.walk.lanes.order:
                    loop = self.walk.lanes.order[-1]
                    point[loop] = build.add(point[loop], lane)
                memref.store(part, buffer, [self.place.tile, *generic.indices(generic.n_inputs + out, point)])
