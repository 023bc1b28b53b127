"""Segmented reductions: those over the rows of ragged components, load-balanced by merge-path.

A block has a tile of the merged sequence of rows and component ends (`tile.py`), whichever
components that is, so long, short and empty components cost what their rows and their number cost.
The first kernel finishes components inside their tiles; the second one adds, to those that end in
another tile than they start in, what the earlier tiles have of them. Both work in a fixed order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.device_model import DEVICE
from ragged_dialect.generic import generic
from ragged_dialect.ir import build, flow, memory
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import byte_size, loop_of
from ragged_dialect.lowering.attributes import BLOCK_SIZES, Mapping
from ragged_dialect.lowering.buffers.subviews import range_view
from ragged_dialect.lowering.gpu.kernel import builder
from ragged_dialect.lowering.gpu.kernel.barriers import Barriers
from ragged_dialect.lowering.gpu.kernel.exchange import Exchange
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.shared_memory import VALUE_BYTES
from ragged_dialect.lowering.gpu.kernel.status import Guards
from ragged_dialect.lowering.gpu.segmented import map_kernels
from ragged_dialect.lowering.gpu.segmented.component_code import ComponentCode, PlacedReduction, captured
from ragged_dialect.lowering.gpu.segmented.component_rows import RowWork
from ragged_dialect.lowering.gpu.segmented.lanes import Lanes
from ragged_dialect.lowering.gpu.segmented.matching import RowComponents, match_rows
from ragged_dialect.lowering.gpu.segmented.row_walk import RowWalk
from ragged_dialect.lowering.gpu.segmented.tile import MergedItems, Place, Tile
from ragged_dialect.lowering.nests.exact_sums import SHORT
from ragged_dialect.lowering.nests.forall_bounds import counts_of, inside_forall
from ragged_dialect.passes.base import PassFailure

TILES = DEVICE.blocks
"""Tiles that are enough to keep a device busy: where there would be more, they are larger instead, so
that the second kernel never has much to do for one component. A thread adds no more than SHORT batches in a row,
however."""


def fits(forall: ir.Operation) -> bool:
    """Whether a forall does nothing but reduce the rows of components, or nothing but map them."""
    return matched(forall) is not None


def matched(forall: ir.Operation) -> RowComponents | None:
    """What a forall does with the rows of components, None when it does anything else, or sums more at once than the
    threads of a warp have room for."""
    found = match_rows(forall)
    return None if found is None or most_threads(found) < DEVICE.warp else found


def most_threads(found: RowComponents) -> int:
    """The most threads of a block that all have room for what they accumulate; 0 where no warp has."""
    accumulated = [_accumulated(reduction) for reduction in found.work if found.reduces]
    return next((n for n in reversed(BLOCK_SIZES) if all(_has_room(a, n) for a in accumulated)), 0)


def schedule(forall: ir.Operation, module: ir.Operation, name: str, guards: Guards, threads: int, unroll: int) -> None:
    """Replace a forall on the host by two kernels, and their launches, for every reduction in it, or by one
    for every map."""
    found = matched(forall)
    if found is None:
        raise PassFailure(forall, "expected a loop that reduces or maps the rows of components, got one that does not")
    most = most_threads(found)
    if threads > most:
        raise PassFailure(forall, f"expected at most {most} threads, for which shared memory has room, got {threads}")
    if not found.reduces:
        map_kernels.schedule(found, module, name, guards, threads, unroll)
        return
    with forall.location:
        for number, reduction in enumerate(found.work):
            suffix = f"_{number}" if number else ""
            _Balanced(found, reduction, threads).lower(module, name + suffix, guards, unroll)
    forall.erase()


@dataclass(frozen=True)
class _Plan:
    """Values on the host: how many components, items and tiles, the items of a group's piece, the parts
    of the features; per tile the component at its start, and per out what its end leaves open."""

    count: Mixed
    items: Mixed
    tiles: Mixed
    size: Mixed
    chunks: Mixed
    starts: ir.Value
    carries: list[ir.Value]


class _Balanced:
    """The kernels of one reduction."""

    def __init__(self, found: RowComponents, reduction: RowWork, threads: int) -> None:
        self.found = found
        self.forall = found.forall
        self.reduction = reduction
        self.threads = threads

    def lower(self, module: ir.Operation, name: str, guards: Guards, unroll: int) -> None:
        """Emit kernels and launches before the forall."""
        kernel = Kernel(name, self.threads, module, guards)
        kernel.open()
        with ir.InsertionPoint(kernel.end):
            code = self._code(kernel)
            storage = reduce(build.minimum, code.widen(self.reduction))
            lanes = self._lanes(kernel, code)
            kernel.keep_resident(_resident(_accumulated(self.reduction, lanes.width)))
        with ir.InsertionPoint(self.forall):
            plan = self._plan(lanes, SHORT * self._batch(lanes, unroll) * lanes.rows)
        with ir.InsertionPoint(kernel.end):
            self._tile(kernel, code, lanes, storage, plan, unroll)
        with ir.InsertionPoint(self.forall):
            grid = build.mul(plan.tiles, plan.chunks)
        kernel.close(grid, self.forall)
        with ir.InsertionPoint(self.forall):
            carrying = self._carrying(plan, lanes)
        builder.schedule(carrying, module, f"{name}_carries", guards, self.threads, unroll)

    # First kernel -----------------------------------------------------------------------------------

    def _code(self, kernel: Kernel) -> ComponentCode:
        reduction, found = self.reduction, self.found
        ops = [reduction.op, *(follower.op for follower in reduction.followers)]
        values = [found.low, found.high, *reduction.inits.values(), *reduction.extents.values()]
        used = captured(found, ops, values)
        return ComponentCode(self.found, {x: kernel.value(x, self.forall) for x in used})

    def _lanes(self, kernel: Kernel, code: ComponentCode) -> Lanes:
        extents = {d: kernel.number(n) for d, n in self.reduction.extents.items()}
        with code.placed(self.reduction.op, build.value(0)) as placed:
            lanes = Lanes.of(placed, self.reduction.loop, extents, self.threads, wide_rows=True)
        fits = _has_room(_accumulated(self.reduction, lanes.width), self.threads)
        return lanes if fits else replace(lanes, vector=None)

    def _plan(self, lanes: Lanes, most: int) -> _Plan:
        (count,) = counts_of(self.forall)
        rows = self.reduction.stored()
        items = build.add(rows, build.maximum(count, 0))
        size = self._asked(lanes, most)
        if size is None:
            least = DEVICE.thread_items * lanes.rows
            size = build.maximum(least, build.minimum(build.ceildiv(items, lanes.groups * TILES), most))
        tiles = build.ceildiv(items, build.mul(size, lanes.groups))
        carries = [self._scratch(tiles, out) for out in range(len(GenericOp(self.reduction.op).outs))]
        starts = memory.room([tiles], build.i64())
        return _Plan(count, items, tiles, size, lanes.chunks(self.reduction.extents), starts, carries)

    def _asked(self, lanes: Lanes, most: int) -> int | None:
        """The items of a group's piece where the forall asks for tiles of some elements."""
        tile = Mapping.of(self.forall).tile
        if tile is None:
            return None
        wide = lanes.elements
        if tile > most * wide:
            raise PassFailure(self.forall, f"expected a tile of at most {most * wide} elements, got {tile}")
        return max(lanes.rows, tile // wide)

    def _scratch(self, tiles: Mixed, out: int) -> ir.Value:
        """A row per tile of the shape and type of an out."""
        reduced = GenericOp(self.reduction.op)
        k = reduced.n_inputs + out
        sizes = [self.reduction.extents[loop_of(e)] for e in reduced.maps[k].results]
        return memory.room([tiles, *sizes], reduced.scalar_type(k))

    def _tile(
        self, kernel: Kernel, code: ComponentCode, lanes: Lanes, storage: ir.Value, plan: _Plan, unroll: int
    ) -> None:
        carries = [kernel.value(x, self.forall) for x in plan.carries]
        starts = kernel.value(plan.starts, self.forall)
        count, total, size = (build.value(kernel.number(x)) for x in (plan.count, plan.items, plan.size))
        chunks = kernel.number(plan.chunks)
        thread, block = builder.hardware_id("gpu.thread_id"), builder.hardware_id("gpu.block_id")
        tile, chunk = build.divide(block, chunks), build.remainder(block, chunks)
        group, point, conditions = lanes.place(thread, chunk)
        first = arith.muli(tile, arith.muli(size, build.value(lanes.groups)))
        walk = RowWalk(code, self.reduction, lanes, point, storage, self._batch(lanes, unroll))
        exchange = Exchange(kernel, thread, Barriers(self.threads))
        place = Place(tile, thread, build.add(build.mul(chunk, self.threads), thread), group, first, size, total)
        Tile(walk, MergedItems(code, count), exchange, place, conditions).emit(starts, carries)

    def _batch(self, lanes: Lanes, unroll: int) -> int:
        """Rows, or wide pieces of them, that a thread reads at once."""
        generic = GenericOp(self.reduction.op)
        wide = lanes.width * lanes.rows
        fast = lanes.order[-1] if lanes.order else lanes.loop
        elements = sum(wide if fast in generic.loops_of(k) else 1 for k in self.reduction.rows if generic.is_read(k))
        fit = DEVICE.values_in_flight // max(1, elements)
        return max(1, min(DEVICE.batches * unroll, 1 << (fit.bit_length() - 1) if fit else 1))

    # Second kernel ----------------------------------------------------------------------------------

    def _carrying(self, plan: _Plan, lanes: Lanes) -> ir.Operation:
        """A forall over tiles: where a component ends that started in an earlier one, what the tiles
        from there on have of it is added."""
        code = ComponentCode(self.found, {})
        with inside_forall(plan.tiles) as (forall, tile):
            component = build.to_index(memref.load(plan.starts, [tile]))
            with flow.when(build.less(component, plan.count)):
                items = MergedItems(code, build.value(plan.count))
                size = build.value(build.mul(plan.size, lanes.groups))
                first = arith.muli(tile, size)
                start = items.start(component)
                before = build.less(start, first)
                ends = build.less(items.end(component), arith.addi(first, size))
                with flow.when(arith.andi(before, ends)):
                    self._add(code, component, arith.divui(start, size), tile, plan.carries)
        return forall

    def _add(
        self, code: ComponentCode, component: ir.Value, first: ir.Value, last: ir.Value, carries: list[ir.Value]
    ) -> None:
        """Add rows `first` to `last` of what tiles left open to a component's outs, and do again what
        follows."""
        reduced = GenericOp(self.reduction.op)
        combiners = PlacedReduction.of(reduced).combiners
        count = arith.subi(last, first)
        for out, combiner in enumerate(combiners):
            view = code.value(reduced.outs[out], code.at(component))
            rank = len(view.type.shape)
            every = ir.AffineMap.get_identity(rank + 1)
            kept = every.get_submap(list(range(1, rank + 1)))
            generic(
                [range_view(carries[out], 0, first, count)],
                [view],
                [every, kept],
                ["reduction"] + ["parallel"] * rank,
                lambda elements, combiner=combiner: [combiner.apply(elements[0], elements[1])],
            )
        for follower in self.reduction.followers:
            code.copy(follower.op, code.at(component))


def _accumulated(reduction: RowWork, width: int = 1) -> int:
    """Bytes of a thread's accumulators, `width` for every out."""
    reduced = GenericOp(reduction.op)
    types = [reduced.scalar_type(k) for k in range(reduced.n_inputs, len(reduced.operands))]
    return sum(byte_size(type_) for type_ in types) * width


def _resident(accumulated: int) -> int:
    """Threads that shall fit on a multiprocessor: a walk has many values at hand, and with twice the accesses of other
    schedules in flight fewer threads will do."""
    return DEVICE.resident_long if accumulated > DEVICE.accumulated_bytes else DEVICE.resident_many


def _has_room(accumulated: int, threads: int) -> bool:
    """Whether all threads of a block can keep some bytes each, and a slot of any type beside them."""
    return threads * (accumulated + VALUE_BYTES) <= DEVICE.shared_bytes
