"""What is known of queries, where cotangents are made: the logs of their sums, and `delta`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import byte_size
from ragged_dialect.lowering.buffers.subviews import extent
from ragged_dialect.lowering.gpu.contract import fragments
from ragged_dialect.lowering.gpu.contract.attention.constants import STAGES, number
from ragged_dialect.lowering.gpu.contract.shared import loaded
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.thread_loops import guarded


class Saved(NamedTuple):
    """Of a query, what its scores are measured from, as an exponent of 2, and its `delta`."""

    base: ir.Value
    delta: ir.Value

    @staticmethod
    def of(lse: ir.Value, delta: ir.Value) -> Saved:
        """From the log of its sum: nothing, where it saw no key."""
        none = arith.cmpf(arith.CmpFPredicate.OEQ, lse, number(-math.inf))
        return Saved(arith.select(none, number(0.0), arith.mulf(lse, number(math.log2(math.e)))), delta)


def of_row(buffers: Sequence[ir.Value], row: ir.Value, head: ir.Value) -> Saved:
    """What is known of a query: `buffers` are `lse` and `delta`, [rows, heads]."""
    return Saved.of(*(memref.load(x, [row, head]) for x in buffers))


class SavedTile:
    """What is known of the queries of tiles, in shared memory: a row for each of the two, once for each stage."""

    def __init__(self, kernel: Kernel, rows: int) -> None:
        self._rows, kind = rows, ir.F32Type.get()
        self._buffers = [kernel.workgroup(ir.MemRefType.get([STAGES, rows], kind)) for _ in range(2)]
        self._size = byte_size(kind)

    def copy(
        self,
        stage: ir.Value,
        thread: ir.Value,
        sources: Sequence[ir.Value],
        first: ir.Value,
        end: ir.Value,
        head: Mixed,
    ) -> None:
        """Start copying, of the queries from `first` on, 0 from query `end` on: so are its rows."""
        row = build.add(first, thread)
        inside = build.less(row, end)
        known = arith.select(inside, row, first)

        def put() -> None:
            for source, buffer in zip(sources, self._buffers, strict=True):
                at = fragments.global_pointer(source, build.add(build.mul(known, extent(source, 1)), head))
                fragments.copy(self._pointer(buffer, stage, thread), at, inside, self._size)

        guarded([build.less(thread, self._rows)], put)

    def at(self, stage: ir.Value, column: ir.Value) -> list[Saved]:
        """Of two neighbours of every eight, from a column on."""
        found: list[Saved] = []
        for right in range(0, self._rows, fragments.N):
            pointers = [self._pointer(x, stage, build.add(column, right)) for x in self._buffers]
            pairs = [loaded(pointer, ir.F32Type.get(), 2) for pointer in pointers]
            found += [Saved.of(*both) for both in zip(*pairs, strict=True)]
        return found

    def _pointer(self, buffer: ir.Value, stage: ir.Value, column: ir.Value) -> ir.Value:
        return fragments.shared_pointer(buffer, build.add(build.mul(stage, build.value(self._rows)), column))
