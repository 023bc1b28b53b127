"""The inner part of attention on the CPU: a block of queries along the lanes of vectors.

The softmax is kept as maximum and sum of what was seen (scores in base 2).
"""

from __future__ import annotations

import math

from ragged_dialect._mlir import arith, ir, memref, tensor
from ragged_dialect._mlir import math as math_ops
from ragged_dialect.ir import build, flow
from ragged_dialect.lowering.attention.lanes import TILE, Block, Bounds, Lanes
from ragged_dialect.lowering.math_emitter import Emitter
from ragged_dialect.lowering.math_exponential import exp2_at_most_one
from ragged_dialect.ops.attention import AttentionOp


class Forward(Lanes):
    """Emits the kernel; `q`, `k` and `v` are dense [rows, heads, head dim]."""

    def __init__(self, op: AttentionOp, q: ir.Value, k: ir.Value, v: ir.Value) -> None:
        super().__init__(op, op.visible, (k, v))
        self.q = q
        self.queries, self.sums = self.columns(q), self.columns(v)
        self.scores = self.regs.scratch(TILE)
        self.rows = self.regs.scratch(2)

    def run(
        self, block: Block, head: ir.Value, key_head: ir.Value, o: ir.Value, lse: ir.Value | None
    ) -> list[ir.Value]:
        """One head of a block; the tensors of its rows with the results in."""
        self.load(self.q, self.queries, block, head, self.factor)
        self.clear(self.sums)
        bounds = self.bounds(block)
        state = [self.regs.splat(-self._largest), self.regs.splat(0.0)]
        top, total = flow.strided(
            bounds.low, TILE, bounds.high, state, lambda j, s: self._tile(block, bounds, key_head, j, s)
        )
        emitter = Emitter()
        seen = emitter.select(emitter.number(total).compare("==", 0.0), 0.0, 1.0 / emitter.number(total))
        made = [self.store(self.sums, o, block.count, head, seen.value)]  # a NaN stays one
        if lse is None:
            return made
        for row, x in enumerate((top, total)):
            self.regs.store(x, self.rows, row)
        return [
            *made,
            *flow.for_loop(block.count, [lse], lambda r, x: [tensor.insert(self._sum_of(r), x[0], [r, head])]),
        ]

    @property
    def _largest(self) -> float:
        return 1.7976931348623157e308 if isinstance(self.wide, ir.F64Type) else 3.4028234663852886e38

    def _sum_of(self, r: ir.Value) -> ir.Value:
        """The log of a row's sum of exponentials."""
        top, total = (memref.load(self.rows, [build.value(k), r]) for k in range(2))
        return arith.addf(arith.mulf(top, build.constant(self.wide, math.log(2))), math_ops.log(total))

    def _tile(
        self, block: Block, bounds: Bounds, head: ir.Value, first: ir.Value, state: list[ir.Value]
    ) -> list[ir.Value]:
        """A tile of keys: scores, their exponentials, and values times these."""
        n, count = self.regs.rows, self.tile(block, bounds, head, first)

        def scores(place: ir.Value, top: list[ir.Value]) -> list[ir.Value]:
            keys = [build.add(build.add(first, place), k) for k in range(n)]
            found, _ = self.capped(self.products(0, self.queries, block, bounds, head, first, keys))
            return [self._highest(place, self.masked(block, bounds, keys, found), top[0])]

        top = flow.strided(0, n, count, state[:1], scores)
        emitter = Emitter()
        shrink = exp2_at_most_one(emitter.number(state[0]) - emitter.number(top[0]))
        total = [(emitter.number(state[1]) * shrink).value]
        total = flow.strided(0, n, count, total, lambda place, x: [self._weights(place, top[0], x[0])])
        self.add(1, self.sums, self.scores, block, head, first, count, shrink)
        return [*top, *total]

    def _highest(self, place: ir.Value, scores: list[ir.Value], top: ir.Value) -> ir.Value:
        """The highest of some scores, which are stored, and of `top`. A NaN may be passed over: it comes back with its
        own difference."""
        emitter = Emitter()
        higher = emitter.number(top)
        for k, x in enumerate(scores):
            self.regs.store(x, self.scores, build.add(place, k))
            score = emitter.number(x)
            higher = emitter.select(score.compare(">", higher), score, higher)
        return higher.value

    def _weights(self, place: ir.Value, top: ir.Value, total: ir.Value) -> ir.Value:
        """The exponentials of some scores in their place, and their sum with `total`: 0 for a score of -inf."""
        emitter = Emitter()
        highest, made = emitter.number(top), emitter.number(total)
        for row in [build.add(place, k) for k in range(self.regs.rows)]:
            weight = exp2_at_most_one(emitter.number(self.regs.load(self.scores, row).value) - highest)
            self.regs.store(weight, self.scores, row)
            made = made + weight
        return made.value
