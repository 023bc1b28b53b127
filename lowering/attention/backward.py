"""The inner part of the derivatives of attention on the CPU: a block of queries, or of keys, along the lanes of
vectors, and the softmax made again of the saved sums.

Queries and keys change places and little else: the products of rows and of upstream rows are the same, and a query's
saved numbers are a vector where queries lie along the lanes, and one number for all lanes where keys do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ragged_dialect._mlir import ir, memref, tensor, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.attention.blocks import Block, Meeting
from ragged_dialect.lowering.attention.lanes import TILE, Lanes, each
from ragged_dialect.lowering.math.emitter import Emitter, Number
from ragged_dialect.lowering.math.exponential import exp2_at_most_one
from ragged_dialect.ops.attention import Attention


class Backward(Lanes):
    """Emits the kernel. `own` and `others` are pairs of dense [rows, heads, dim]: queries and upstream rows, and keys
    and values, either pair along the lanes; `saved` are `lse` and `delta`, [rows, heads], of queries. What is made is
    the cotangent of the first of `own`, and with `second` of the other one too."""

    def __init__(
        self, op: Attention, own: Sequence[ir.Value], others: Sequence[ir.Value], saved: Sequence[ir.Value],
        queries: bool, second: bool, blocks: int,
    ) -> None:  # fmt: skip
        super().__init__(op, queries, own, others, [x.type.shape[2] for x in own[: 1 + second]], blocks)
        self.saved, self.scale = saved, op.scale.value
        self.rows = [self.columns(x) for x in own]
        self.sums = [self.columns(x) for x in own[: 1 + second]]
        self.weights, self.parts = (self.regs.scratch(TILE) for _ in range(2))
        self.slopes = None if self.cap is None and self.scored is None else self.regs.scratch(TILE)
        self.along = self.regs.scratch(2 * blocks)

    def run(self, block: Block, head: ir.Value, first: Mixed, heads: int, outs: Sequence[ir.Value]) -> list[ir.Value]:
        """One head of a block, which meets so many heads from `first` on; the tensors of its rows with the results
        in."""

        def begin(number: ir.Value, own: Block, _: list[ir.Value]) -> None:
            for x, into, scale in zip(self.own, self.rows, (self.factor, 1.0), strict=True):
                self.load(x, self.part(into, number), own, head, scale)
            self.clear(*(self.part(x, number) for x in self.sums))
            if self.queries:
                along, last = self.part(self.along, number), build.sub(own.count, 1)
                each(self.regs.lanes, lambda r: self._save(along, build.minimum(r, last), r, own, head))

        def one(k: ir.Value) -> None:
            other = build.value(build.add(first, k))
            self.run_tiles(block, head, other, self._tile)

        def end(number: ir.Value, own: Block, made: list[ir.Value]) -> list[ir.Value]:
            low, scales = build.sub(own.row, block.row), (self.scale, 1.0)
            return [
                self.store(self.part(sums, number), out, low, own.count, head, self.regs.splat(scale))
                for sums, out, scale in zip(self.sums, made, scales, strict=False)
            ]

        self.each_part(block, [], begin)
        each(heads, one)
        return self.each_part(block, outs[: len(self.sums)], end)

    def _save(self, along: ir.Value, row: Mixed, lane: ir.Value, block: Block, head: ir.Value) -> None:
        for k, x in enumerate(self._numbers(build.value(build.add(block.row, row)), head)):
            memref.store(x, along, [build.value(k), lane])

    def _numbers(self, row: ir.Value, head: ir.Value) -> list[ir.Value]:
        """The saved numbers of a query: its sum in base 2, or 0 where no key has a weight, and its `delta`."""
        emitter = Emitter()
        lse, delta = (tensor.extract(x, [row, head]) for x in self.saved)
        none = emitter.number(lse).compare("==", -math.inf)
        return [emitter.select(none, 0.0, emitter.number(lse) * (1 / math.log(2))).value, delta]

    def _tile(self, meeting: Meeting) -> None:
        """A tile of rows: weights, cotangents of scores, and rows times these. The products are in loops of their own:
        the sums of both at once are more than there are registers."""
        n, number = self.regs.rows, meeting.number
        own = [self.part(x, number) for x in self.rows]
        scores_at = self.scores(own[0], meeting, self.weights, self.slopes)

        def places(place: ir.Value) -> list[ir.Value]:
            return [build.value(build.add(place, k)) for k in range(n)]

        def weights(place: ir.Value) -> None:
            scores = scores_at(places(place))
            rows = [build.value(build.add(meeting.first, k)) for k in places(place)]
            scores = self.masked(meeting.block, meeting.bounds, rows, scores)
            for k, (row, score) in enumerate(zip(rows, scores, strict=True)):
                lse, _ = self._numbers_of(meeting, row)
                weight = exp2_at_most_one(Emitter().number(score) - lse)
                self.regs.store(weight, self.weights, build.add(place, k))

        def parts(place: ir.Value) -> None:
            for at, upstream in zip(places(place), self.products(1, own[1], meeting, places(place)), strict=True):
                _, delta = self._numbers_of(meeting, build.value(build.add(meeting.first, at)))
                made = self.regs.load(self.weights, at) * (Emitter().number(upstream) - delta)
                self.regs.store(made if self.slopes is None else made * self.regs.load(self.slopes, at), self.parts, at)

        for body in (weights, parts):
            flow.strided(meeting.low, n, meeting.high, [], lambda place, _, body=body: body(place))
        for k, (sums, factors) in enumerate(zip(self.sums, (self.parts, self.weights), strict=False)):
            self.add(k, self.part(sums, number), factors, meeting)

    def _numbers_of(self, meeting: Meeting, row: ir.Value) -> list[Number]:
        """The saved numbers of what meets a row, in all lanes."""
        if self.queries:
            along = self.part(self.along, meeting.number)
            return [self.regs.load(along, k) for k in range(2)]
        query = build.add(build.minimum(row, build.sub(meeting.bounds.high, 1)), meeting.block.starts[0])
        found = self._numbers(build.value(query), meeting.head)
        return [Emitter().number(vector.broadcast(self.regs.vector, x)) for x in found]
