"""The schedule `contract`: products on tensor cores, a block for a tile of the result, and attention.

All columns of a tile of rows (`tiles.py`) are neighbours. A block goes along what is summed in steps: it copies the
next ones of both operands to shared memory while its warps multiply one (`staging.py`). Its tile is as large as shared
memory has room for: what is read again for other tiles comes from the L2 cache, whose bandwidth bounds small ones.
"""

from __future__ import annotations

from contextlib import ExitStack

from ragged_dialect._mlir import arith, ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import definer
from ragged_dialect.lowering.attributes import WIDE
from ragged_dialect.lowering.buffers.subviews import extent
from ragged_dialect.lowering.gpu.contract import fragments, splitting
from ragged_dialect.lowering.gpu.contract.attention import schedule as attention
from ragged_dialect.lowering.gpu.contract.attention.kernel import matched as call_of
from ragged_dialect.lowering.gpu.contract.match import Contraction, matched, roles_of
from ragged_dialect.lowering.gpu.contract.operands import Range, Staged
from ragged_dialect.lowering.gpu.contract.results import Results
from ragged_dialect.lowering.gpu.contract.shape import STEP, Shape, element_of, is_long
from ragged_dialect.lowering.gpu.contract.shared import halves_of
from ragged_dialect.lowering.gpu.contract.staging import in_stages
from ragged_dialect.lowering.gpu.contract.tiles import Tiles, at_most
from ragged_dialect.lowering.gpu.kernel import builder
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp, generics_in
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.status import Guards
from ragged_dialect.lowering.gpu.kernel.thread_loops import guarded
from ragged_dialect.lowering.gpu.segmented.component_code import BodyCode, captured
from ragged_dialect.lowering.nests.forall_bounds import counts_of
from ragged_dialect.passes.base import PassFailure

LEVEL = 32
"""Steps after which a long sum is added to a total: of a million numbers both have about as many terms."""


def fits(forall: ir.Operation) -> bool:
    """Whether a forall does nothing but attention, or multiply matrices and what follows for each element."""
    return call_of(forall) is not None or matched(forall) is not None


def concerns(forall: ir.Operation) -> bool:
    """Whether a forall has such a product, or attention."""
    return call_of(forall) is not None or any(map(roles_of, generics_in(forall)))


def schedule(forall: ir.Operation, module: ir.Operation, name: str, guards: Guards, threads: int, unroll: int) -> None:
    """Replace a forall on the host by a kernel and its launch."""
    call, found = call_of(forall), matched(forall)
    if call is None and found is None:
        raise PassFailure(forall, "expected a loop that multiplies matrices of f16, bf16 or f32, got one that does not")
    with forall.location:
        if call is not None:
            attention.lower(call, module, name, guards, threads)
        elif found is not None:
            shape = Shape.of(found, threads)
            _ContractKernel(found, shape, Kernel(name, shape.threads, module, guards)).lower()
    forall.erase()


def _added(sums: list[ir.Value], others: list[ir.Value]) -> list[ir.Value]:
    return [arith.addf(a, b) for a, b in zip(sums, others, strict=True)]


class _ContractKernel:
    """The kernel of one product."""

    def __init__(self, found: Contraction, shape: Shape, kernel: Kernel) -> None:
        self.found = found
        self.kernel = kernel
        self.roles = found.roles
        self.shape = shape
        self.rows, self.columns = shape.rows, shape.columns

    def lower(self) -> None:
        """Emit kernel and launch before the forall."""
        found, kernel = self.found, self.kernel
        kernel.open()
        kernel.op.attributes[WIDE] = ir.UnitAttr.get()  # addresses are computed as indices
        rows = [] if found.difference is None else list(found.difference.operands)
        start = [] if found.start is None else [found.start]
        with ir.InsertionPoint(found.forall):
            product, (count,) = GenericOp(found.product), counts_of(found.forall)
            columns = product.extent(self.roles.n) if found.columns is None else found.columns
            chunks, each = build.ceildiv(columns, self.columns), self._each(product)
            if each is None:
                tiles = at_most(extent(definer(product.outs[0]).operands[0], 0), count, self.rows)
            else:
                tiles = build.mul(each, count)
            grid = build.mul(tiles, chunks)
        with ir.InsertionPoint(kernel.end):
            used = captured(found, [found.product, *found.following], [*rows, *start])
            code = BodyCode(found, {x: kernel.value(x, found.forall) for x in used})
            chunks, count = map(kernel.number, (chunks, count))
            each = None if each is None else kernel.number(each)
            block = builder.hardware_id("gpu.block_id")
            tile, column = build.divide(block, chunks), build.mul(build.remainder(block, chunks), self.columns)
            self._find(code, build.value(tile), column, count, each)
        kernel.close(grid, found.forall)

    def _each(self, product: GenericOp) -> Mixed | None:
        """How many tiles of rows each component has, None where they differ."""
        if self.found.difference is not None:
            return None
        rows = product.extent(self.roles.m) if self.found.rows is None else self.found.rows
        return build.ceildiv(rows, self.rows)

    def _find(self, code: BodyCode, tile: ir.Value, column: Mixed, count: Mixed, each: Mixed | None) -> None:
        """Do the tile of a block, of whichever component it is."""
        if each is not None:
            component, number = (0, tile) if count == 1 else (build.divide(tile, each), build.remainder(tile, each))
            self._tile(code, build.value(component), build.mul(number, self.rows), column)
            return
        assert self.found.difference is not None
        high, low = self.found.difference.operands
        tiles = Tiles(code, low, high, self.rows)
        tiles.find(tile, count, self._corner()[0], lambda component, row, _: self._tile(code, component, row, column))

    def _tile(self, code: BodyCode, component: ir.Value, row: Mixed, column: Mixed) -> None:
        """The tile of a component from a row and a column on."""
        found, roles = self.found, self.roles
        with ExitStack() as stack:
            ops = (found.product, *found.following)
            placed = [stack.enter_context(code.placed(op, component)) for op in ops]
            start = None if found.start is None else code.value(found.start, code.at(component))
            ranges = {roles.left: Range(roles.m, row, self.rows), roles.right: Range(roles.n, column, self.columns)}
            element = element_of(placed[0])
            wide, split = all(Staged.is_wide(placed[0], x) for x in ranges), splitting.is_split(element)
            # Parts of elements read one by one: ptxas 13.0 reports 4 to 24 bytes spilled with `resident_split`.
            narrow = DEVICE.resident_least
            self.kernel.keep_resident((DEVICE.resident_split if wide else narrow) if split else DEVICE.resident_long)
            # A thread waits for what it copies through registers: nothing is won by doing so earlier.
            stages = self.shape.stages(element) if wide and not split else 2
            parts = [Staged(self.kernel, placed[0], x, outer, roles.k, STEP, stages) for x, outer in ranges.items()]
            sums = self._sums(parts, stages, placed[0].extent(roles.k), start)
            self._store(Results(found, placed, start), row, column, sums)

    def _corner(self) -> tuple[ir.Value, Mixed, Mixed]:
        """The lane, and where the part of its warp starts in the tile."""
        thread, size = builder.hardware_id("gpu.thread_id"), build.value(DEVICE.warp)
        warp, across = arith.divui(thread, size), build.value(self.shape.across)
        down, right = build.mul(arith.divui(warp, across), self.shape.high), arith.remui(warp, across)
        return arith.remui(thread, size), down, build.mul(right, self.shape.wide)

    def _sums(self, parts: list[Staged], stages: int, summed: Mixed, start: ir.Value | None) -> list[ir.Value]:
        """The sums of a thread: of fragments from above to below, of each from left to right."""
        thread, corner = builder.hardware_id("gpu.thread_id"), self._corner()
        first = build.constant(ir.F32Type.get(), 0.0) if start is None else start

        def copy(stage: ir.Value, number: ir.Value) -> None:
            for part in parts:
                part.copy(stage, build.mul(number, build.value(STEP)), thread)

        def step(stage: ir.Value, number: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
            made, totals = self._multiplied(parts, stage, corner, state[: len(starts)]), state[len(starts) :]
            if not totals:
                return made
            ends = build.equal(arith.remui(number, build.value(LEVEL)), LEVEL - 1)
            return flow.choose(ends, lambda: [*zeros, *_added(made, totals)], lambda: [*made, *totals], types)

        starts = [first] * (self.shape.high // fragments.M * (self.shape.wide // fragments.N) * 4)
        zeros = [build.constant(first.type, 0.0)] * len(starts)
        inits = [*zeros, *starts] if is_long(GenericOp(self.found.product), self.found) else starts
        types = [x.type for x in inits]
        found = in_stages(stages, build.ceildiv(summed, STEP), inits, copy, step, all(part.wide for part in parts))
        return found if len(found) == len(starts) else _added(found[: len(starts)], found[len(starts) :])

    def _multiplied(
        self, parts: list[Staged], stage: ir.Value, corner: tuple[ir.Value, Mixed, Mixed], sums: list[ir.Value]
    ) -> list[ir.Value]:
        """The sums after one step."""
        lane, *starts = corner
        corners = [part.corner(stage, lane, start) for part, start in zip(parts, starts, strict=True)]
        for k in range(0, STEP, fragments.K):
            left, right = (
                [part.fragments(at, x, k) for x in range(0, size, fragments.M)]
                for part, at, size in zip(parts, corners, (self.shape.high, self.shape.wide), strict=True)
            )
            pairs = [(a, b) for a in left for four in right for b in halves_of(four)]
            made = [
                splitting.multiply(a, b, sums[4 * i : 4 * i + 4], parts[0].element) for i, (a, b) in enumerate(pairs)
            ]
            sums = [x for four in made for x in four]
        return sums

    def _store(self, results: Results, row: Mixed, column: Mixed, sums: list[ir.Value]) -> None:
        """Store what a thread has: of each fragment two neighbours in a row, and two that are 8 rows below."""
        lane, down, right = self._corner()
        row = build.add(build.add(row, down), arith.divui(lane, build.value(4)))
        column = build.add(build.add(column, right), build.mul(arith.remui(lane, build.value(4)), 2))
        across = self.shape.wide // fragments.N
        for below in range(0, self.shape.high, fragments.SIDE):
            first, half = below // fragments.M * across, below // fragments.SIDE % 2
            at = build.add(row, below)

            def of_row(at: Mixed = at, first: int = first, half: int = half) -> None:
                for k in range(across):
                    pair = 4 * (first + k) + 2 * half
                    results.store(at, build.add(column, k * fragments.N), sums[pair : pair + 2])

            guarded([results.in_row(at)], of_row)
