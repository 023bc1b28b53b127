"""The inner part of attention on the CPU: a block of queries along the lanes of vectors.

The softmax is kept as maximum and sum of what was seen (scores in base 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ragged_dialect._mlir import arith, ir, memref, tensor
from ragged_dialect._mlir import math as math_ops
from ragged_dialect.ir import build, flow
from ragged_dialect.lowering.attention.blocks import Block, Meeting
from ragged_dialect.lowering.attention.lanes import TILE, Lanes
from ragged_dialect.lowering.math.emitter import Emitter, Number
from ragged_dialect.lowering.math.exponential import exp2_at_most_one
from ragged_dialect.ops.attention import AttentionOp


class Forward(Lanes):
    """Emits the kernel; `q`, `k` and `v` are dense [rows, heads, head dim]."""

    def __init__(self, op: AttentionOp, q: ir.Value, k: ir.Value, v: ir.Value, blocks: int) -> None:
        super().__init__(op, True, (q,), (k, v), [v.type.shape[2]], blocks)
        self.q = q
        self.rows, self.sums = self.columns(q), self.columns(v)
        self.weights = self.regs.scratch(TILE)
        self.state = self.regs.scratch(2 * blocks)

    def run(
        self, block: Block, head: ir.Value, key_head: ir.Value, o: ir.Value, lse: ir.Value | None
    ) -> list[ir.Value]:
        """One head of a block; the tensors of its rows with the results in."""
        start = [self.regs.splat(-self.largest), self.regs.splat(0.0)]

        def begin(number: ir.Value, own: Block, _: list[ir.Value]) -> None:
            self.begin(number, own, head)
            self.clear(self.part(self.sums, number))
            for row, x in enumerate(start):
                self.regs.store(x, self.part(self.state, number), row)

        def end(number: ir.Value, own: Block, outs: list[ir.Value]) -> list[ir.Value]:
            low, state = build.sub(own.row, block.row), self.part(self.state, number)
            total = self.regs.load(state, 1)
            seen = total.emitter.select(total.compare("==", 0.0), 0.0, 1.0 / total).value  # a NaN stays one
            made = self.store(self.part(self.sums, number), outs[0], low, own.count, head, seen)

            def log(r: ir.Value, x: list[ir.Value]) -> list[ir.Value]:
                top, sums = (memref.load(state, [build.value(k), r]) for k in range(2))
                return [tensor.insert(log_of_sum(top, sums), x[0], [build.value(build.add(r, low)), head])]

            return [made, *(flow.for_loop(own.count, outs[1:], log) if lse is not None else [])]

        self.each_part(block, [], begin)
        self.run_tiles(block, head, key_head, self.meet)
        return self.each_part(block, [o] if lse is None else [o, lse], end)

    def begin(self, number: ir.Value, own: Block, head: ir.Value) -> None:
        """Put the queries of a block of a number along lanes."""
        self.load(self.q, self.part(self.rows, number), own, head, self.factor)

    @property
    def largest(self) -> float:
        """The largest number of the type of sums."""
        return 1.7976931348623157e308 if isinstance(self.wide, ir.F64Type) else 3.4028234663852886e38

    def meet(self, meeting: Meeting) -> None:
        """A tile of keys: scores, their exponentials, and values times these."""
        queries, sums = (self.part(x, meeting.number) for x in (self.rows, self.sums))
        shrink = self.weigh(meeting, self.scores(queries, meeting, self.weights))
        self.add(1, sums, self.weights, meeting, shrink)

    def weigh(self, meeting: Meeting, found_at: Callable[[Sequence[ir.Value]], list[ir.Value]]) -> Number:
        """The exponentials of scores that are found at places; what they make of those before."""
        n, low, high = self.regs.rows, meeting.low, meeting.high
        state = self.part(self.state, meeting.number)

        def scores(place: ir.Value, top: list[ir.Value]) -> list[ir.Value]:
            places = [build.value(build.add(place, k)) for k in range(n)]
            found = found_at(places)
            keys = [build.value(build.add(meeting.first, k)) for k in places]
            return [self._highest(place, self.masked(meeting.block, meeting.bounds, keys, found), top[0])]

        before = self.regs.load(state, 0)
        top = flow.strided(low, n, high, [before.value], scores)[0]
        shrink = exp2_at_most_one(before - before.emitter.number(top))
        total = [(self.regs.load(state, 1) * Number(Emitter(), shrink.value)).value]
        total = flow.strided(low, n, high, total, lambda place, x: [self._weights(place, top, x[0])])[0]
        for row, x in enumerate((top, total)):
            self.regs.store(x, state, row)
        return shrink

    def _highest(self, place: ir.Value, scores: list[ir.Value], top: ir.Value) -> ir.Value:
        """The highest of some scores, which are stored, and of `top`."""
        for k, x in enumerate(scores):
            self.regs.store(x, self.weights, build.add(place, k))
            top = higher(x, top)
        return top

    def _weights(self, place: ir.Value, top: ir.Value, total: ir.Value) -> ir.Value:
        """The exponentials of some scores in their place, and their sum with `total`: 0 for a score of -inf."""
        emitter = Emitter()
        highest, made = emitter.number(top), emitter.number(total)
        for row in [build.add(place, k) for k in range(self.regs.rows)]:
            weight = exp2_at_most_one(emitter.number(self.regs.load(self.weights, row).value) - highest)
            self.regs.store(weight, self.weights, row)
            made = made + weight
        return made.value


def log_of_sum(top: ir.Value, total: ir.Value) -> ir.Value:
    """The log of a row's sum of exponentials, of the maximum and the sum that are kept of it."""
    return arith.addf(arith.mulf(top, build.constant(top.type, math.log(2))), math_ops.log(total))


def higher(score: ir.Value, top: ir.Value) -> ir.Value:
    """The higher of two scores. A NaN may be passed over: it comes back with its own difference."""
    first, second = Emitter().number(score), Emitter().number(top)
    return first.emitter.select(first.compare(">", second), first, second).value
