"""Attention: queries meet keys, whose exponentials are the weights of values (online softmax)."""

from __future__ import annotations

import math
from functools import partial

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect._mlir import math as math_ops
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build
from ragged_dialect.lowering.gpu.contract import splitting
from ragged_dialect.lowering.gpu.contract.attention.constants import LANES, number
from ragged_dialect.lowering.gpu.contract.attention.kernel import AttentionKernel, Meeting, Parts, Place
from ragged_dialect.lowering.gpu.kernel.shuffle import shuffle_xor
from ragged_dialect.lowering.gpu.kernel.thread_loops import guarded


class Forward(AttentionKernel):
    """The kernel of a call. Of each query are kept the maximum of its scores and the sum of the exponentials."""

    def fits(self, rows: int) -> bool:
        if splitting.is_split(self.element):
            return rows * max(self.dims) <= DEVICE.attention_split
        return not (self.changed and self.blocks > 1) or rows * self.dims[0] <= DEVICE.attention_capped

    def on_tile(self, place: Place, own: list[list[list[Parts]]]) -> None:
        start = [-math.inf] * 2 + [0.0] * (2 + self.dims[1] // 2)

        def step(meeting: Meeting, state: list[ir.Value]) -> list[ir.Value]:
            """Maxima, sums and results of all blocks after a tile of keys."""
            scores, _ = self.scores(place, meeting, self.products(self.tiles[0], meeting.stage, own[0]))
            scores = self.masked(place, meeting, scores)
            after = [self._weighed(*both) for both in zip(self.by_block(scores), self.by_block(state), strict=True)]
            sums = [sums for *_, sums in after]
            sums = self.added(self.tiles[1], meeting.stage, [weights for _, weights, _ in after], sums)
            return [x for (known, *_), added in zip(after, sums, strict=True) for x in (*known, *added)]

        for block, state in enumerate(self.walk(place, start, step)):
            self._store(place, block, state)

    def _weighed(
        self, scores: list[ir.Value], state: list[ir.Value]
    ) -> tuple[list[ir.Value], list[ir.Value], list[ir.Value]]:
        """For a block: maxima and sums after a tile, the weights of its values, and the results as they are to be
        added to."""
        tops, totals, sums = state[:2], state[2:4], state[4:]
        halves = [k // 2 % 2 for k in range(len(scores))]
        rows = [[x for x, at in zip(scores, halves, strict=True) if at == half] for half in (0, 1)]
        tops_after = [self._highest(top, row) for top, row in zip(tops, rows, strict=True)]
        bases = [arith.mulf(self._base(top), number(self.factor)) for top in tops_after]
        weights = [self.power(x, bases[half]) for x, half in zip(scores, halves, strict=True)]
        shrink = [self.power(top, base) for top, base in zip(tops, bases, strict=True)]
        totals = [arith.mulf(total, by) for total, by in zip(totals, shrink, strict=True)]
        for x, half in zip(weights, halves, strict=True):
            totals[half] = arith.addf(totals[half], x)
        sums = [arith.mulf(x, shrink[k // 2 % 2]) for k, x in enumerate(sums)]
        return [*tops_after, *totals], weights, sums

    @staticmethod
    def _highest(top: ir.Value, scores: list[ir.Value]) -> ir.Value:
        """The highest score of a row, of the lanes that have it together. A NaN is passed over: it comes back with its
        own difference."""
        for x in scores:
            top = arith.maxnumf(top, x)
        for distance in (1, 2):
            top = arith.maxnumf(top, shuffle_xor(top, distance))
        return top

    @staticmethod
    def _base(top: ir.Value) -> ir.Value:
        """What is subtracted from the scores of a row: nothing where no key was seen."""
        none = arith.cmpf(arith.CmpFPredicate.OEQ, top, number(-math.inf))
        return arith.select(none, number(0.0), top)

    def _store(self, place: Place, block: int, state: list[ir.Value]) -> None:
        """Store what a thread has of a block."""
        tops, totals, sums = state[:2], state[2:4], state[4:]
        for distance in (1, 2):
            totals = [arith.addf(total, shuffle_xor(total, distance)) for total in totals]
        seen = [arith.cmpf(arith.CmpFPredicate.UNE, total, number(0.0)) for total in totals]  # a NaN stays one
        wholes = [arith.divf(number(1.0), total) for total in totals]
        factors = [arith.select(some, x, number(0.0)) for some, x in zip(seen, wholes, strict=True)]
        self.store(place, block, self.written[0], [arith.mulf(x, factors[k // 2 % 2]) for k, x in enumerate(sums)])
        for half, (top, total) in enumerate(zip(tops, totals, strict=True)):
            if len(self.written) > 1:
                self.of_row(place, block, half, partial(self._store_lse, place.head, top, total))

    def _store_lse(self, head: ir.Value, top: ir.Value, total: ir.Value, row: ir.Value) -> None:
        """Store the log of a row's sum of exponentials, once for the lanes that have it."""
        base = arith.mulf(top, number(self.factor))
        lse = arith.addf(arith.mulf(base, number(math.log(2))), math_ops.log(total))
        once = build.equal(arith.remui(self.lane, build.value(LANES)), 0)
        guarded([once], lambda: memref.store(lse, self.written[1], [row, head]))
