"""`ragged-map-parallel`: which schedule every piece of device code gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect._mlir import ir
from ragged_dialect.ir.walk import captures, outermost
from ragged_dialect.lowering.buffers import VIEWS, require_buffers
from ragged_dialect.lowering.forall_bounds import counts_of
from ragged_dialect.lowering.gpu.attributes import SCHEDULE, SERIAL, WIDE
from ragged_dialect.lowering.gpu.kernel.status import status_of
from ragged_dialect.lowering.gpu.passes.blocks_or_pieces import both_ways
from ragged_dialect.lowering.gpu.passes.fission import fission
from ragged_dialect.lowering.gpu.passes.flat_runs import Cut, joins, tile
from ragged_dialect.lowering.gpu.passes.split_folds import split_folds
from ragged_dialect.lowering.gpu.passes.split_reduction import split, split_loop
from ragged_dialect.lowering.gpu.passes.split_scans import split_scan
from ragged_dialect.lowering.gpu.schedules import BALANCED, GENERAL, SCHEDULES, SEGMENT, SERIALLY, fits, pick
from ragged_dialect.passes.base import PassFailure, RaggedPass

_CROSSED = VIEWS | {"memref.alloc", "memref.dim"}


@dataclass(frozen=True)
class RaggedMapParallel(RaggedPass):
    """Cut flat linalg ops into tiles, and name the schedule of every forall on the host.

    ```mlir
    linalg.generic … ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
    scf.forall (%b) in (%n) { … one component … }
    // becomes
    scf.forall (%t) in (%tiles) { … one tile … } {ragged.schedule = "flat"}
    scf.forall (%b) in (%n) { … one component … } {ragged.schedule = "segment"}
    ```

    Neighbouring flat ops whose tiles depend on the same tile only share a forall; reductions of a long
    array into few results are made in two steps, and so are checks, totals and running sums of index vectors
    where there turn out to be more than 16384 entries. `tile` is the number of elements of a tile. `schedule` is
    `auto`, which picks by what the body does, or a name, which is given to every forall that it fits, if
    need be after splitting the forall into several; the others are `general`. Precondition:
    `wrap-ragged-device-code`.
    """

    name: ClassVar[str] = "ragged-map-parallel"
    schedule: str = "auto"
    tile: int = 4096

    def run(self, op: ir.Operation) -> None:
        """Map the device code of every function of a module."""
        if self.schedule != "auto" and self.schedule not in SCHEDULES:
            names = ", ".join(["auto", *SCHEDULES])
            raise PassFailure(op, f"expected a schedule among {names}, got '{self.schedule}'")
        if self.tile < 1:
            raise PassFailure(op, f"expected a tile of at least 1 element, got {self.tile}")
        require_buffers(op)
        for function in op.regions[0].blocks[0].operations:
            if function.operation.name == "func.func" and len(function.operation.regions[0].blocks) > 0:
                for block in function.operation.regions[0].blocks:
                    _tile_block(block, self.tile)
                _split_vector_loops(function.operation, status_of(op, function.operation))
                _name(function.operation, self.schedule)


def _tile_block(block: ir.Block, elements: int) -> None:
    """Tile the flat ops of a host block and of the host regions in it."""
    run: list[Cut] = []

    def flush() -> None:
        if run:
            tile(run, elements)
            run.clear()

    for op in list(block.operations):
        op = op.operation
        if op.name == "linalg.generic":
            loop = split_loop(op)
            if loop is not None:
                flush()
            for part in [op] if loop is None else split(op, loop, elements):
                cut = Cut.of(part)
                if run and not joins(run, cut):
                    flush()
                run.append(cut)
            continue
        if op.name not in _CROSSED and not op.name.startswith("arith."):
            flush()
        if op.name.startswith("scf.") and op.name != "scf.forall":
            for region in op.regions:
                for inner in region.blocks:
                    _tile_block(inner, elements)


def _split_vector_loops(function: ir.Operation, status: ir.Value | None) -> None:
    """Give long loops over index vectors tiles: those that stand in foralls of one iteration."""
    for forall in outermost(function, "scf.forall"):
        if counts_of(forall) != [1] or SERIAL in forall.attributes or split_scan(forall):
            continue
        tiled = split_folds(forall)
        if tiled is not None and status is not None and status in captures([forall]):
            tiled.attributes[WIDE] = ir.UnitAttr.get()


def _name(function: ir.Operation, schedule: str) -> None:
    gates = 0
    for forall in outermost(function, "scf.forall"):
        if SERIAL in forall.attributes:
            del forall.attributes[SERIAL]
            _mark([forall], SERIALLY)
        elif schedule == "auto":
            gates += _pick(forall, gates)
        else:
            parts = [forall] if fits(forall, schedule) else fission(forall, lambda part: fits(part, schedule))
            _mark([forall] if parts is None else parts, GENERAL if parts is None else schedule)


def _pick(forall: ir.Operation, gates: int) -> int:
    """Name the schedule of choice, or two, each behind a gate: how many gates there are more."""
    name = pick(forall)
    both = both_ways(forall, gates) if name == SEGMENT else None
    if both is None:
        _mark([forall], name)
        return 0
    picking, blocks, pieces = both
    _mark([picking], GENERAL)
    _mark([blocks], SEGMENT)
    _mark(pieces, BALANCED)
    return 2


def _mark(foralls: list[ir.Operation], schedule: str) -> None:
    for forall in foralls:
        forall.attributes[SCHEDULE] = ir.StringAttr.get(schedule)
