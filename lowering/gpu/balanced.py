"""The balanced schedule: reductions over the rows of ragged components, cut into equal pieces.

A block has a tile of the merged sequence of rows and component ends (`balanced_merge.py`), whichever
components that is, so long, short and empty components cost what their rows and their number cost.
The first kernel finishes components inside their tiles; the second one adds, to those that end in
another tile than they start in, what the earlier tiles have of them. Both work in a fixed order.
"""

from __future__ import annotations

from typing import Any

from ragged_dialect._mlir import DYNAMIC, arith, ir, memref, scf
from ragged_dialect.generic import generic
from ragged_dialect.lowering import emit
from ragged_dialect.lowering.buffers import extent, range_view
from ragged_dialect.lowering.emit import Mixed
from ragged_dialect.lowering.gpu import general
from ragged_dialect.lowering.gpu.balanced_component import ComponentCode, PlacedReduction, captured
from ragged_dialect.lowering.gpu.balanced_lanes import Lanes
from ragged_dialect.lowering.gpu.balanced_match import Components, RowReduction, host_rows, match_components
from ragged_dialect.lowering.gpu.balanced_merge import MergedItems
from ragged_dialect.lowering.gpu.balanced_rows import RowWalk
from ragged_dialect.lowering.gpu.balanced_tile import Tile
from ragged_dialect.lowering.gpu.barriers import Barriers
from ragged_dialect.lowering.gpu.combine import Exchange
from ragged_dialect.lowering.gpu.flat_runs import forall_over
from ragged_dialect.lowering.gpu.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel import Kernel

TILES = 4096
"""Tiles that are enough to keep a device busy: where there would be more, they are larger instead, so
that the second kernel never has much to do for one component."""

LOADS = 16
"""Accesses that the piece of a group has at least: less, and finding it takes longer than reading it."""

_LT = 2
_BATCH = 2
"""Accesses in flight per access that other schedules have: a group walks alone, without neighbours
in the same rows."""


def fits(forall: Any) -> bool:
    """Whether a forall does nothing but reduce the rows of components."""
    return match_components(forall) is not None


def schedule(forall: Any, module: Any, name: str, status: Any, threads: int, unroll: int) -> None:
    """Replace a forall on the host by two kernels, and their launches, for every reduction in it."""
    found = match_components(forall)
    if found is None:
        general.schedule(forall, module, name, status, threads, unroll)
        return
    with forall.location:
        for number, reduction in enumerate(found.reductions):
            suffix = f"_{number}" if number else ""
            _Balanced(found, reduction, threads).lower(module, name + suffix, status, unroll)
    forall.erase()


class _Balanced:
    """The kernels of one reduction."""

    def __init__(self, found: Components, reduction: RowReduction, threads: int) -> None:
        self.found = found
        self.forall = found.forall
        self.reduction = reduction
        self.threads = threads

    def lower(self, module: Any, name: str, status: Any, unroll: int) -> None:
        """Emit kernels and launches before the forall."""
        kernel = Kernel(name, self.threads, module, status)
        kernel.open()
        count = self._count()
        with ir.InsertionPoint(kernel.end):
            inside = {x: kernel.value(x, self.forall) for x in captured(self.found, self.reduction)}
            code = ComponentCode(self.found, inside)
            storage = emit.value(0)
            for k, rows in enumerate(code.widen(self.reduction)):
                storage = emit.minimum(storage, rows) if k else rows
            lanes = self._lanes(code, inside)
        with ir.InsertionPoint(self.forall):
            tiles, size, chunks = self._grid(count, lanes)
            carries = [self._scratch(tiles, out) for out in GenericOp(self.reduction.op).outs]
            starts = _alloc([tiles], emit.i64())
        with ir.InsertionPoint(kernel.end):
            whole = [kernel.value(x, self.forall) for x in carries]
            counted = emit.value(count if isinstance(count, int) else kernel.scalar(count))
            sized = emit.value(size if isinstance(size, int) else kernel.scalar(size))
            parts = chunks if isinstance(chunks, int) else kernel.scalar(chunks)
            first = kernel.value(starts, self.forall)
            self._emit(kernel, code, lanes, storage, counted, sized, parts, first, whole, unroll)
        with ir.InsertionPoint(self.forall):
            grid = emit.mul(tiles, chunks)
        kernel.close(grid, self.forall)
        second = self._second(count, tiles, emit.mul, size, lanes, starts, carries)
        general.schedule(second, module, name + "_carries", status, self.threads, unroll)
