"""The schedule `contract`: products on tensor cores, a block for a tile of the result, and attention.

All columns of a tile of rows (`tiles.py`) are neighbours. A block goes along what is summed in steps: it copies the
next ones of both operands to shared memory while its warps multiply one (`staging.py`).
"""

from __future__ import annotations

from contextlib import ExitStack

from ragged_dialect._mlir import arith, ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.attributes import WIDE
from ragged_dialect.lowering.buffers import extent
from ragged_dialect.lowering.forall_bounds import counts_of
from ragged_dialect.lowering.gpu.contract import attention, fragments
from ragged_dialect.lowering.gpu.contract.match import RESULT, Contraction, matched
from ragged_dialect.lowering.gpu.contract.results import Results
from ragged_dialect.lowering.gpu.contract.staging import Range, Staged, in_stages
from ragged_dialect.lowering.gpu.contract.tiles import Tiles, at_most
from ragged_dialect.lowering.gpu.kernel import builder
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.status import Guards
from ragged_dialect.lowering.gpu.kernel.thread_loops import guarded
from ragged_dialect.lowering.gpu.segmented.component_code import BodyCode, captured
from ragged_dialect.lowering.gpu.segmented.component_rows import host_rows
from ragged_dialect.passes.base import PassFailure

SIDE = DEVICE.contract_side
STEP = DEVICE.contract_step
"""Rows and columns of a warp's square, and how far a step goes along what is summed."""


def fits(forall: ir.Operation) -> bool:
    """Whether a forall does nothing but multiply 16-bit floats, and what follows for each element, or attention."""
    return attention.matched(forall) is not None or matched(forall) is not None


def schedule(forall: ir.Operation, module: ir.Operation, name: str, guards: Guards, threads: int, unroll: int) -> None:
    """Replace a forall on the host by a kernel and its launch."""
    call, found = attention.matched(forall), matched(forall)
    if call is None and found is None:
        raise PassFailure(forall, "expected a loop that multiplies matrices of f16 or bf16, got one that does not")
    with forall.location:
        most = DEVICE.contract_threads if call is None else DEVICE.attention_threads
        kernel = Kernel(name, max(DEVICE.warp, min(threads, most)), module, guards)
        if call is not None:
            attention.AttentionKernel(call, kernel).lower()
            call.call.function.erase()
        elif found is not None:
            _ContractKernel(found, kernel).lower()
    forall.erase()


class _ContractKernel:
    """The kernel of one product. Its warps are in two columns, if there are two, each with a square of the tile."""

    def __init__(self, found: Contraction, kernel: Kernel) -> None:
        self.found = found
        self.kernel = kernel
        self.roles = found.roles
        warps = kernel.threads // DEVICE.warp
        self.across = min(warps, 2)
        self.rows, self.columns = warps // self.across * SIDE, self.across * SIDE

    def lower(self) -> None:
        """Emit kernel and launch before the forall."""
        found, kernel = self.found, self.kernel
        kernel.open()
        kernel.keep_resident(DEVICE.resident_long)
        kernel.op.attributes[WIDE] = ir.UnitAttr.get()  # addresses are computed as indices
        rows = [] if found.difference is None else list(found.difference.operands)
        start = [] if found.start is None else [found.start]
        with ir.InsertionPoint(found.forall):
            product = GenericOp(found.product)
            columns = product.extent(self.roles.n) if found.columns is None else found.columns
            chunks = build.ceildiv(columns, self.columns)
            grid = build.mul(self._tiles(product), chunks)
            (count,) = counts_of(found.forall)
        with ir.InsertionPoint(kernel.end):
            used = captured(found, [found.product, *found.following], [*rows, *start])
            code = BodyCode(found, {x: kernel.value(x, found.forall) for x in used})
            chunks, count = (x if isinstance(x, int) else kernel.scalar(x) for x in (chunks, count))
            block = builder.hardware_id("gpu.block_id")
            chunk = build.value(0) if chunks == 1 else arith.remui(block, build.value(chunks))
            self._find(code, build.value(build.divide(block, chunks)), build.mul(chunk, self.columns), count)
        kernel.close(grid, found.forall)

    def _tiles(self, product: GenericOp) -> Mixed:
        """How many tiles of rows there are at most."""
        if self.found.difference is None:
            return build.ceildiv(product.extent(self.roles.m), self.rows)
        (stored,) = host_rows(product.op, {RESULT: 0})
        return at_most(extent(*stored), counts_of(self.found.forall)[0], self.rows)

    def _find(self, code: BodyCode, tile: ir.Value, column: Mixed, count: Mixed) -> None:
        """Do the tile of a block, of whichever component it is."""
        difference = self.found.difference
        if difference is None:
            self._tile(code, build.value(0), build.mul(tile, self.rows), column)
            return
        high, low = difference.operands
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
            # A thread waits for what it copies element by element: nothing is won by doing so earlier.
            stages = DEVICE.contract_stages if all(Staged.is_wide(placed[0], x) for x in ranges) else 2
            parts = [Staged(self.kernel, placed[0], x, outer, roles.k, STEP, stages) for x, outer in ranges.items()]
            sums = self._sums(parts, stages, placed[0].extent(roles.k), start)
            self._store(Results(found, placed), row, column, sums)

    def _corner(self) -> tuple[ir.Value, ir.Value, ir.Value]:
        """The lane, and where the square of its warp starts in the tile."""
        thread, size = builder.hardware_id("gpu.thread_id"), build.value(DEVICE.warp)
        warp, across = arith.divui(thread, size), build.value(self.across)
        down, right = arith.divui(warp, across), arith.remui(warp, across)
        side = build.value(SIDE)
        return arith.remui(thread, size), arith.muli(down, side), arith.muli(right, side)

    def _sums(self, parts: list[Staged], stages: int, summed: Mixed, start: ir.Value | None) -> list[ir.Value]:
        """The sums of a thread: of fragments from above to below, of each from left to right."""
        thread, corner = builder.hardware_id("gpu.thread_id"), self._corner()
        first = build.constant(ir.F32Type.get(), 0.0) if start is None else start

        def copy(stage: ir.Value, number: ir.Value) -> None:
            for part in parts:
                part.copy(stage, build.mul(number, build.value(STEP)), thread)

        def step(stage: ir.Value, _: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
            return self._multiplied(parts, stage, corner, sums)

        inits = [first] * (SIDE // fragments.M * (SIDE // fragments.N) * 4)
        return in_stages(stages, build.ceildiv(summed, STEP), inits, copy, step)

    @staticmethod
    def _multiplied(
        parts: list[Staged], stage: ir.Value, corner: tuple[ir.Value, ...], sums: list[ir.Value]
    ) -> list[ir.Value]:
        """The sums after one step."""
        lane, *starts = corner
        corners = [part.corner(stage, lane, start) for part, start in zip(parts, starts, strict=True)]
        for k in range(0, STEP, fragments.K):
            left, right = (
                [part.fragments(at, x, k) for x in range(0, SIDE, fragments.M)]
                for part, at in zip(parts, corners, strict=True)
            )
            columns = [four[half : half + 2] for four in right for half in (0, 2)]
            pairs = [(a, b) for a in left for b in columns]
            made = [
                fragments.multiply(a, b, sums[4 * i : 4 * i + 4], parts[0].element) for i, (a, b) in enumerate(pairs)
            ]
            sums = [x for four in made for x in four]
        return sums

    def _store(self, results: Results, row: Mixed, column: Mixed, sums: list[ir.Value]) -> None:
        """Store what a thread has: of each fragment two neighbours in a row, and two that are 8 rows below."""
        lane, down, right = self._corner()
        row = build.add(build.add(row, down), arith.divui(lane, build.value(4)))
        column = build.add(build.add(column, right), build.mul(arith.remui(lane, build.value(4)), 2))
        across = SIDE // fragments.N
        for below in range(0, SIDE, fragments.SIDE):
            first, half = below // fragments.M * across, below // fragments.SIDE % 2
            at = build.add(row, below)

            def of_row(at: Mixed = at, first: int = first, half: int = half) -> None:
                for k in range(across):
                    pair = 4 * (first + k) + 2 * half
                    results.store(at, build.add(column, k * fragments.N), sums[pair : pair + 2])

            guarded([results.in_row(at)], of_row)
