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
from ragged_dialect.lowering.attention.lanes import TILE, Block, Bounds, Lanes, each
from ragged_dialect.lowering.math_emitter import Emitter, Number
from ragged_dialect.lowering.math_exponential import exp2_at_most_one
from ragged_dialect.ops.attention import Attention, Keys


class Backward(Lanes):
    """Emits the kernel. `own` and `others` are pairs of dense [rows, heads, dim]: queries and upstream rows, and keys
    and values, either pair along the lanes; `saved` are `lse` and `delta`, [rows, heads], of queries. What is made is
    the cotangent of the first of `own`, and with `second` of the other one too."""

    def __init__(
        self, op: Attention, own: Sequence[ir.Value], others: Sequence[ir.Value], saved: Sequence[ir.Value],
        queries: bool, second: bool,
    ) -> None:  # fmt: skip
        visible = op.visible
        super().__init__(op, visible if queries else Keys(visible.right, visible.left, visible.end), others)
        self.own, self.saved, self.queries, self.scale = own, saved, queries, op.scale.value
        self.rows = [self.columns(x) for x in own]
        self.sums = [self.columns(x) for x in own[: 1 + second]]
        self.weights, self.parts = (self.regs.scratch(TILE) for _ in range(2))
        self.slopes = self.weights if self.cap is None else self.regs.scratch(TILE)
        self.along = self.regs.scratch(2)

    def run(self, block: Block, head: ir.Value, first: Mixed, heads: int, outs: Sequence[ir.Value]) -> list[ir.Value]:
        """One head of a block, which meets so many heads from `first` on; the tensors of its rows with the results
        in."""
        for x, into, scale in zip(self.own, self.rows, (self.factor, 1.0), strict=True):
            self.load(x, into, block, head, scale)
        self.clear(*self.sums)
        if self.queries:
            last = build.sub(block.count, 1)
            each(self.regs.lanes, lambda r: self._save(build.minimum(r, last), r, block, head))
        bounds = self.bounds(block)

        def one(k: ir.Value) -> None:
            other = build.value(build.add(first, k))
            flow.strided(bounds.low, TILE, bounds.high, [], lambda j, _: self._tile(block, bounds, other, j))

        each(heads, one)
        scales = (self.scale, 1.0)
        return [
            self.store(sums, out, block.count, head, self.regs.splat(scale))
            for sums, out, scale in zip(self.sums, outs, scales, strict=False)
        ]

    def _save(self, row: Mixed, lane: ir.Value, block: Block, head: ir.Value) -> None:
        for k, x in enumerate(self._numbers(build.value(build.add(block.row, row)), head)):
            memref.store(x, self.along, [build.value(k), lane])

    def _numbers(self, row: ir.Value, head: ir.Value) -> list[ir.Value]:
        """The saved numbers of a query: its sum in base 2, or 0 where no key has a weight, and its `delta`."""
        emitter = Emitter()
        lse, delta = (tensor.extract(x, [row, head]) for x in self.saved)
        none = emitter.number(lse).compare("==", -math.inf)
        return [emitter.select(none, 0.0, emitter.number(lse) * (1 / math.log(2))).value, delta]

    def _tile(self, block: Block, bounds: Bounds, head: ir.Value, first: ir.Value) -> list[ir.Value]:
        """A tile of rows: weights, cotangents of scores, and rows times these. The products are in loops of their own:
        the sums of both at once are more than there are registers."""
        n, count = self.regs.rows, self.tile(block, bounds, head, first)

        def rows(place: ir.Value) -> list[ir.Value]:
            return [build.add(build.add(first, place), k) for k in range(n)]

        def weights(place: ir.Value) -> None:
            found = self.products(0, self.rows[0], block, bounds, head, first, rows(place))
            scores, capped = self.capped(found)
            scores = self.masked(block, bounds, rows(place), scores)
            for k, (row, score) in enumerate(zip(rows(place), scores, strict=True)):
                lse, _ = self._numbers_of(block, bounds, head, row)
                emitter = Emitter()
                self.regs.store(exp2_at_most_one(emitter.number(score) - lse), self.weights, build.add(place, k))
                if capped is not None:
                    self.regs.store(1.0 - capped[k] * capped[k], self.slopes, build.add(place, k))

        def parts(place: ir.Value) -> None:
            found = self.products(1, self.rows[1], block, bounds, head, first, rows(place))
            for k, (row, upstream) in enumerate(zip(rows(place), found, strict=True)):
                at = build.add(place, k)
                _, delta = self._numbers_of(block, bounds, head, row)
                made = self.regs.load(self.weights, at) * (Emitter().number(upstream) - delta)
                self.regs.store(made if self.cap is None else made * self.regs.load(self.slopes, at), self.parts, at)

        each(count, weights, step=n)
        each(count, parts, step=n)
        for k, (sums, factors) in enumerate(zip(self.sums, (self.parts, self.weights), strict=False)):
            self.add(k, sums, factors, block, head, first, count)
        return []

    def _numbers_of(self, block: Block, bounds: Bounds, head: ir.Value, row: ir.Value) -> list[Number]:
        """The saved numbers of what meets a row, in all lanes."""
        if self.queries:
            return [self.regs.load(self.along, k) for k in range(2)]
        query = build.add(build.minimum(row, build.sub(bounds.high, 1)), block.starts[0])
        found = self._numbers(build.value(query), head)
        return [Emitter().number(vector.broadcast(self.regs.vector, x)) for x in found]
