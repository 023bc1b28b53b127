"""`split-long-scans`: running sums of long index vectors, in three steps."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.match import is_read
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.buffers.subviews import root, stored_in
from ragged_dialect.lowering.gpu.kernel.scan import RunningSum
from ragged_dialect.lowering.gpu.passes.vector_tiles import LONG, TILE, SplitLongLoops, VectorTiles
from ragged_dialect.lowering.nests.folds import Fold, with_bounds
from ragged_dialect.lowering.nests.forall_bounds import inside_forall
from ragged_dialect.passes.base import RaggedPass


@dataclass(frozen=True)
class SplitLongScans(SplitLongLoops, RaggedPass):
    """Scan a long index vector in three steps: sums of tiles by many blocks, running sums of these by one, and those
    of every tile, from where it starts, by many again. Offsets of many lengths come from them.

    ```mlir
    scf.forall (%i) in (1) { scf.for %k = %c0 to %n … {ragged.fold = {kind = "scan"}} }
    // becomes
    scf.forall (%t) in (%tiles) { scf.for … {ragged.fold = {few, kind = "addi"}} memref.store %sum, %sums[%t] }
    scf.forall (%i) in (%once) { scf.for … {ragged.fold = {kind = "scan"}} … memref.store %start, %starts[%t] }
    scf.forall (%t) in (%all) { … scf.for … iter_args(%sum = %start) … {ragged.fold = {kind = "scan"}} }
    ```

    There are no tiles, and one iteration that does all, where the vector turns out to have no more than `long`
    entries; `tile` is the number of entries of a tile. Precondition: `wrap-ragged-device-code`.
    """

    long: int = LONG
    tile: int = TILE

    def split(self, forall: ir.Operation, status: ir.Value | None) -> None:
        """Split a forall that does nothing but a scan."""
        loop = _scan_of(forall)
        tiles = None if loop is None else VectorTiles.of(loop, forall, self)
        if loop is None or tiles is None:
            return
        with ir.InsertionPoint(forall), loop.location:
            sums, starts = tiles.room(), tiles.room(1)
            _sums(loop, tiles, sums)
            _starts(loop, tiles, sums, starts)
            _tiles(loop, tiles, starts)
        forall.erase()


def _scan_of(forall: ir.Operation) -> ir.Operation | None:
    """The loop of a forall, where it is one of running sums of i64 and there is nothing else."""
    *ops, _ = [op.operation for op in forall.regions[0].blocks[0].operations]
    if len(ops) != 1 or (fold := Fold.of(ops[0])) is None or fold.kind != "scan":
        return None
    (loop,) = ops
    written = stored_in(loop)
    reads = {root(load.operands[0]) for load in find_ops(loop, "memref.load")}
    plain = RunningSum.of(loop) is not None and loop.results[0].type == build.i64() and not written & reads
    return loop if plain and not is_read(loop.results[0]) else None


def _sums(loop: ir.Operation, tiles: VectorTiles, sums: ir.Value) -> None:
    """Make a forall over tiles that has the sum of each."""
    with inside_forall(tiles.count) as (_, tile):
        part = with_bounds(loop, tiles.bounds(tile), build.constant(build.i64(), 0), {})
        for store in find_ops(part, "memref.store"):
            store.erase()
        flow.mark_fold(part, "addi", few=True)
        memref.store(part.results[0], sums, [tile])


def _starts(loop: ir.Operation, tiles: VectorTiles, sums: ir.Value, starts: ir.Value) -> None:
    """Make a forall of one iteration that has the sum before each tile."""
    with inside_forall(arith.minsi(tiles.count, build.value(1))):
        memref.store(loop.operands[3], starts, [build.value(0)])

        def body(tile: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            total = arith.addi(carried[0], memref.load(sums, [tile]))
            memref.store(total, starts, [build.value(build.add(tile, 1))])
            return [total]

        flow.for_loop(tiles.count, [loop.operands[3]], body, "scan")


def _tiles(loop: ir.Operation, tiles: VectorTiles, starts: ir.Value) -> None:
    """Make a forall over tiles, or over one that is all, that does a part of the loop."""
    step = tiles.step()
    with inside_forall(arith.maxsi(tiles.count, build.value(1))) as (_, tile):
        init = tiles.choose(lambda: memref.load(starts, [tile]), lambda: loop.operands[3], build.i64())
        with_bounds(loop, tiles.bounds(tile, step), init, {})
