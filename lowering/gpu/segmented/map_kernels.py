"""Segmented maps: elementwise work on the rows of components, load-balanced by equal tiles of rows.

A block finds the components of its tile's first and last row, and a thread that of each of its rows
between these, so that long, short and empty components cost what their rows cost.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from ragged_dialect._mlir import arith, ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import byte_size
from ragged_dialect.ir.walk import ops_in
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers.subviews import is_buffer
from ragged_dialect.lowering.gpu.kernel import builder
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.points import Payload, Point
from ragged_dialect.lowering.gpu.kernel.status import Guards
from ragged_dialect.lowering.gpu.kernel.thread_loops import guarded, with_index
from ragged_dialect.lowering.gpu.segmented.component_code import ComponentCode, captured
from ragged_dialect.lowering.gpu.segmented.component_rows import RowWork
from ragged_dialect.lowering.gpu.segmented.lanes import Lanes
from ragged_dialect.lowering.gpu.segmented.matching import RowComponents
from ragged_dialect.lowering.gpu.segmented.warp_search import ended_by_warp
from ragged_dialect.lowering.nests.forall_bounds import counts_of
from ragged_dialect.lowering.search import ended

TILES = DEVICE.map_waves * DEVICE.blocks
"""Tiles that are enough: where there would be more, they are larger instead, so that blocks behind a closed gate
are gone in no time."""


def schedule(found: RowComponents, module: ir.Operation, name: str, guards: Guards, threads: int, unroll: int) -> None:
    """Replace a forall on the host by a kernel and its launch for every map in it."""
    forall = found.forall
    with forall.location:
        for number, row_map in enumerate(found.work):
            suffix = f"_{number}" if number else ""
            kernel = Kernel(name + suffix, threads, module, guards)
            kernel.open()
            kernel.keep_resident(_resident(row_map.op))
            _MapKernel(found, row_map, kernel, unroll).lower()
    forall.erase()


def _resident(op: ir.Operation) -> int:
    """Threads that shall fit on a multiprocessor: divisions and functions take registers for every row in flight."""
    longest = max((byte_size(x.type.element_type) for x in op.operands if is_buffer(x)), default=0)
    if not any(inner.name == "arith.divf" or inner.name.startswith("math.") for inner in ops_in(op)):
        return DEVICE.resident
    return DEVICE.resident_long if longest > DEVICE.register_bytes else DEVICE.resident_many


class _MapKernel:
    """The kernel of one map."""

    def __init__(self, found: RowComponents, row_map: RowWork, kernel: Kernel, unroll: int) -> None:
        self.row_map = row_map
        self.forall = found.forall
        self.kernel = kernel
        with ir.InsertionPoint(kernel.end):
            used = captured(found, [row_map.op], [found.low, found.high, *row_map.extents.values()])
            self.code = ComponentCode(found, {x: kernel.value(x, self.forall) for x in used})
            extents = {d: kernel.number(n) for d, n in row_map.extents.items()}
            with self.code.placed(row_map.op, build.value(0)) as placed:
                self.lanes = Lanes.of(placed, row_map.loop, extents, kernel.threads, wide_rows=False)
            self.unroll = min(unroll, max(1, DEVICE.registers // DEVICE.resident // self._registers()))

    def _registers(self) -> int:
        """What the values of a row take of a thread's registers: of short elements beside long ones there are many."""
        buffers = [x.type.element_type for x in self.row_map.op.operands if is_buffer(x)]
        return max(1, self.lanes.width * sum(map(byte_size, buffers)) // DEVICE.register_bytes)

    def lower(self) -> None:
        """Emit kernel and launch before the forall."""
        with ir.InsertionPoint(self.forall):
            stored = self.row_map.stored()
            chunks = self.lanes.chunks(self.row_map.extents)
            step = self.lanes.groups * self.unroll
            asked = Mapping.of(self.forall).tile
            steps = build.maximum(build.ceildiv(stored, step * TILES), DEVICE.batches)
            if asked is not None:
                steps = max(1, asked // (self.lanes.elements * self.unroll))
            size = build.mul(steps, step)
            grid = build.mul(build.ceildiv(stored, size), chunks)
            (count,) = counts_of(self.forall)
        with ir.InsertionPoint(self.kernel.end):
            self._tile(*map(self.kernel.number, (count, size, chunks)))
        self.kernel.close(grid, self.forall)

    def _tile(self, count: Mixed, size: Mixed, chunks: Mixed) -> None:
        """`size` rows per tile, `chunks` blocks for the features of a tile."""
        thread, block = builder.hardware_id("gpu.thread_id"), builder.hardware_id("gpu.block_id")
        tile, chunk = build.divide(block, chunks), build.remainder(block, chunks)
        group, point, conditions = self.lanes.place(thread, chunk)
        components = build.value(count)
        first = build.add(self.code.low(build.value(0)), build.mul(tile, size))
        last = build.sub(build.minimum(build.add(first, size), self.code.low(components)), 1)

        def work() -> None:
            # a row belongs to the component that follows those that end at it or before
            after = [build.add(row, 1) for row in (first, last)]
            low, high = ended_by_warp(self.code.high, components, after, arith.remui(thread, build.value(DEVICE.warp)))
            guarded(conditions, lambda: self._rows(point, build.add(first, group), last, low, high))

        guarded([build.at_most(first, last)], work)

    def _rows(self, point: Point, first: Mixed, last: ir.Value, low: ir.Value, high: ir.Value) -> None:
        """The rows of a thread, from `first` on, up to `last`, whose components are from `low` to `high`."""
        groups, loop = self.lanes.groups, self.lanes.loop

        def batch(row: ir.Value, _: list[ir.Value]) -> None:
            rows = [build.value(build.add(row, k * groups)) for k in range(self.unroll)]
            inside = [None, *(build.at_most(row, last) for row in rows[1:])]
            # Past the last row it is read again: all is loaded before anything is stored.
            rows = [rows[0], *(build.minimum(row, last) for row in rows[1:])]
            components = ended(self.code.high, [build.add(row, 1) for row in rows], low, high)
            points = [
                with_index(point, loop, build.sub(row, self.code.low(component)))
                for row, component in zip(rows, components, strict=True)
            ]
            self._points(components, points, inside)

        flow.strided(first, groups * self.unroll, build.add(last, 1), [], batch)

    def _points(self, components: list[ir.Value], points: list[Point], inside: list[ir.Value | None]) -> None:
        """Run the payload at points of components; what is not inside is not stored."""
        with ExitStack() as stack:
            placed = [stack.enter_context(self.code.placed(self.row_map.op, component)) for component in components]
            payloads = [Payload(generic, self.lanes.vector) for generic in placed]
            loaded = [payload.loads(point, []) for payload, point in zip(payloads, points, strict=True)]
            found = [p.values(point, x) for p, point, x in zip(payloads, points, loaded, strict=True)]
            for payload, point, values, condition in zip(payloads, points, found, inside, strict=True):
                guarded([] if condition is None else [condition], partial(payload.store_all, point, values))
