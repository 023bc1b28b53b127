"""The cotangents of attention: the softmax is made again of the saved sums.

Queries that meet keys have those of queries, keys that meet queries those of keys and values: each block writes rows
of its own, and sums are in the order of what they are of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import byte_size
from ragged_dialect.lowering.buffers.subviews import extent
from ragged_dialect.lowering.gpu.contract import fragments, splitting
from ragged_dialect.lowering.gpu.contract.attention.constants import STAGES, number
from ragged_dialect.lowering.gpu.contract.attention.kernel import AttentionKernel, Meeting, Parts, Place
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


class Backward(AttentionKernel):
    """The kernel of some cotangents. Own rows are queries and upstream rows, or keys and values; the others are what
    those are not."""

    def fits(self, rows: int) -> bool:
        return rows <= DEVICE.attention_derived // (2 if splitting.is_split(self.element) else 1)

    def open(self) -> None:
        self.saved_tile = SavedTile(self.kernel, self.step) if self.call.by_keys else None

    def copy_saved(self, place: Place, meeting: Meeting) -> None:
        if self.saved_tile is not None:
            first, end = (build.add(self.firsts[0], row) for row in (meeting.row, place.visible.others))
            self.saved_tile.copy(meeting.stage, self.thread, self.saved, first, end, meeting.head)

    def on_tile(self, place: Place, own: list[list[list[Parts]]]) -> None:
        of_rows = [] if self.saved_tile is not None else self._of_rows(place)

        def step(meeting: Meeting, state: list[ir.Value]) -> list[ir.Value]:
            """The sums of all blocks after a tile of others."""
            saved = of_rows if self.saved_tile is None else self.saved_tile.at(meeting.stage, self.right())
            factors = self._factors(place, meeting, own, saved)
            sums = [self._parts(block) for block in self.by_block(state)]
            made = [
                self.added(self.tiles[result], meeting.stage, self.by_block(factors[result]), [own[k] for own in sums])
                for k, result in enumerate(self.results)
            ]
            return [x for block in zip(*made, strict=True) for own in block for x in own]

        for block, state in enumerate(self.walk(place, [0.0] * sum(self._sizes), step)):
            for buffer, sums in zip(self.written, self._parts(state), strict=True):
                self.store(place, block, buffer, sums)

    @property
    def _sizes(self) -> list[int]:
        """How many sums of each result a thread has of a block: four of every eight columns."""
        return [self.dims[result] // fragments.N * 4 for result in self.results]

    def _parts(self, state: list[ir.Value]) -> list[list[ir.Value]]:
        """The sums of a block by results."""
        rest = iter(state)
        return [list(islice(rest, size)) for size in self._sizes]

    def _factors(
        self, place: Place, meeting: Meeting, own: list[list[list[Parts]]], saved: list[Saved]
    ) -> list[list[ir.Value]]:
        """The cotangents of the products of a tile, and the weights: what the others are multiplied with. Those of f16
        are scaled before they are rounded, so that they overflow about where sums of them do."""
        first, second = self.tiles
        scores, slopes = self.scores(place, meeting, self.products(first, meeting.stage, own[0]))
        seen, bases = self.masked(place, meeting, scores), [x.base for x in saved]
        weights = [self.power(x, bases[k]) for k, x in zip(self._places(), seen, strict=True)]
        if 0 not in self.results:
            return [[], weights]
        parts = [
            arith.mulf(weight, arith.mulf(arith.subf(x, saved[k].delta), number(self.call.scale)))
            for k, weight, x in zip(self._places(), weights, self.products(second, meeting.stage, own[1]), strict=True)
        ]
        if slopes is not None:
            parts = [arith.mulf(x, slope) for x, slope in zip(parts, slopes, strict=True)]
        return [parts, weights]

    def _places(self) -> list[int]:
        """Of each score of a thread, which of the saved numbers are those of its query: those of its row where the
        own ones are queries, else of its column."""
        each = self.step // fragments.N * 4
        if self.call.by_keys:
            return [k // 4 * 2 + k % 2 for k in range(each)] * self.blocks
        return [2 * block + k // 2 % 2 for block in range(self.blocks) for k in range(each)]

    def _of_rows(self, place: Place) -> list[Saved]:
        """What is known of the own rows of a thread, those of a block after those of another."""
        rows = [row for block in range(self.blocks) for row in self.rows_of(place, block)]
        return [of_row(self.saved, build.value(row), place.head) for row in rows]
