"""The inner part of attention of bf16 on the CPU by AMX's tiles: scores of keys, which are rows, and of queries along
lanes, and sums of values times weights, which are rounded to bf16."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ragged_dialect._mlir import arith, ir, memref, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.attention.blocks import Block, Meeting
from ragged_dialect.lowering.attention.forward import Forward
from ragged_dialect.lowering.attention.lanes import TILE, each, width_of
from ragged_dialect.lowering.math.emitter import Emitter, Number
from ragged_dialect.lowering.products import amx
from ragged_dialect.lowering.products.amx import BLOCK, ROW, SQUARE, Tiles
from ragged_dialect.lowering.products.micro_kernel import transposed
from ragged_dialect.lowering.products.pairs import (
    are_normal,
    exponent,
    integer,
    larger,
    largest,
    smaller,
    splat,
    turned_pairs,
    vector_of,
)
from ragged_dialect.ops.attention import AttentionOp

_STEP = 2 * SQUARE
"""Elements of a row of a tile."""
_INFINITE = 0x7F80
"""Bits of the smallest magnitude of bf16 that is no number."""


class TiledForward(Forward):
    """Emits the kernel. Where the instruction would take numbers for zeros, or values are not finite, which weights of
    0 would spread, a tile of keys is met as in `Forward`."""

    isa = "amxbf16"

    def __init__(self, op: AttentionOp, q: ir.Value, k: ir.Value, v: ir.Value, blocks: int) -> None:
        super().__init__(op, q, k, v, blocks)
        short, pairs = (replace(self.regs, element=x) for x in (ir.BF16Type.get(), integer(32)))
        depth, width = width_of(q), width_of(v)
        self.steps, self.values_of = build.ceildiv(depth, _STEP), build.ceildiv(width, SQUARE)
        self.own_rows = short.scratch(self.regs.lanes, self.steps * _STEP)
        self.key_rows = short.scratch(TILE, self.steps * _STEP)
        self.value_rows = short.scratch(TILE, build.ceildiv(width, _STEP) * _STEP)
        self.queries_in_pairs = pairs.scratch(blocks * self.steps * SQUARE)
        self.weights_in_pairs = pairs.scratch(TILE // 2)
        self.turned_values = amx.words(self.values_of * TILE // 2)
        self.sums = self.regs.scratch(blocks * self.values_of * SQUARE)
        self.made = self.regs.scratch(self.values_of * SQUARE)
        self.least = memref.alloca(ir.MemRefType.get([blocks], build.index_type()), [], [])
        for x, used in ((self.own_rows, depth), (self.key_rows, depth), (self.value_rows, width)):
            if used % _STEP:  # what is behind the last element
                each(x.type.shape[0], lambda j, x=x: self._clear_row(x, j, first=x.type.shape[1] - _STEP))

    def run(
        self, block: Block, head: ir.Value, key_head: ir.Value, o: ir.Value, lse: ir.Value | None
    ) -> list[ir.Value]:
        amx.shape()
        made = super().run(block, head, key_head, o, lse)
        amx.free()
        return made

    def begin(self, number: ir.Value, own: Block, head: ir.Value) -> None:
        self.copy(self.q, own.row, head, own.count, self.own_rows)
        least, _ = self._extremes(self.own_rows, own.count)
        memref.store(least, self.least, [number])
        first = build.mul(number, self.steps * SQUARE)

        def square(k: ir.Value, lane: ir.Value) -> None:
            column = build.value(build.mul(k, _STEP))
            there = [[build.value(build.add(lane, r)), column] for r in range(SQUARE)]
            rows = [vector.load(_row_of_tile(), self.own_rows, at) for at in there]
            for r, row in enumerate(transposed([vector.bitcast(vector_of(SQUARE, 32), x) for x in rows])):
                place = build.add(build.add(first, build.mul(k, SQUARE)), r)
                vector.store(row, self.queries_in_pairs, [build.value(place), lane])

        each(self.steps, lambda k: each(self.regs.lanes, lambda lane: square(k, lane), step=SQUARE))

    def copy_tile(self, block: Block, first: Mixed, head: ir.Value, count: Mixed) -> None:
        k, v = self.others
        for x, start, into in zip((k, v), block.starts, (self.key_rows, self.value_rows), strict=True):
            self.copy(x, build.add(first, start), head, count, into)
        each(TILE, lambda j: self._clear_row(self.value_rows, j), first=count)
        least, _ = self._extremes(self.key_rows, count)
        least_value, most = self._extremes(self.value_rows, count)
        finite = build.less(most, _INFINITE)
        self.keys_least, self.are_plain = least, arith.andi(build.more(least_value, 0), finite)

        def square(d: ir.Value, j: ir.Value) -> None:
            column = build.value(build.mul(d, SQUARE))
            half = ir.VectorType.get([SQUARE], ir.BF16Type.get())
            rows = [vector.load(half, self.value_rows, [build.value(build.add(j, r)), column]) for r in range(_STEP)]
            tile = build.add(build.mul(d, TILE // _STEP), build.divide(j, _STEP))
            for r, row in enumerate(turned_pairs(rows)):
                place = build.value(build.add(build.mul(tile, SQUARE), r))
                vector.store(row, self.turned_values, [place, build.value(0)])

        each(self.values_of, lambda d: each(count, lambda j: square(d, j), step=_STEP))

    def meet(self, meeting: Meeting) -> None:
        least = memref.load(self.least, [meeting.number])
        normal = arith.andi(self.are_plain, are_normal(least, self.keys_least))

        def by_tiles() -> None:
            self._products(meeting)
            self._add(meeting, self.weigh(meeting, self._scores(meeting)))

        flow.choose(normal, by_tiles, lambda: self._by_lanes(meeting), [])

    def _by_lanes(self, meeting: Meeting) -> None:
        super().begin(meeting.number, meeting.block, meeting.own_head)
        super().copy_tile(meeting.block, meeting.first, meeting.head, meeting.high)
        super().meet(meeting)

    def _products(self, meeting: Meeting) -> None:
        """Keys times queries, as rows of weights."""
        row, lanes = ROW * self.steps, 4 * self.regs.lanes
        keys, queries, weights = map(amx.address, (self.key_rows, self.queries_in_pairs, self.weights))
        own = build.add(queries, build.mul(meeting.number, self.steps * SQUARE * lanes))

        def block(j: ir.Value, _: list[ir.Value]) -> None:
            left = Tiles(build.add(keys, build.mul(j, row)), row, SQUARE * row, ROW)
            sums = Tiles(build.add(weights, build.mul(j, lanes)), lanes, SQUARE * lanes)
            amx.multiply(left, Tiles(own, lanes, ROW, SQUARE * lanes), self.steps, sums, BLOCK, BLOCK)

        low, high = self._whole(meeting)
        flow.strided(low, BLOCK * SQUARE, high, [], block)

    def _whole(self, meeting: Meeting) -> tuple[Mixed, Mixed]:
        """What a meeting is of, in whole steps."""
        low = build.mul(build.divide(meeting.low, _STEP), _STEP)
        return low, build.mul(build.ceildiv(meeting.high, _STEP), _STEP)

    def _scores(self, meeting: Meeting) -> Callable[[Sequence[ir.Value]], list[ir.Value]]:
        """What gives the scores of products at some places."""

        def scaled(places: Sequence[ir.Value]) -> list[ir.Value]:
            return [(self.regs.load(self.weights, place) * self.factor).value for place in places]

        if self.scored is None:
            return lambda places: self.capped(scaled(places), places)
        each(meeting.high, lambda j: self.regs.store(scaled([j])[0], self.weights, j), first=meeting.low)
        return self.scores_of(meeting, self.weights)

    def _add(self, meeting: Meeting, shrink: Number) -> None:
        """Values times weights, on sums, which become less before."""
        lanes, steps = 4 * self.regs.lanes, TILE // _STEP
        values, weights, sums = map(amx.address, (self.turned_values, self.weights_in_pairs, self.made))
        low, high = self._whole(meeting)
        self._pair_weights(meeting, low, high)

        def block(d: Mixed, rows: int) -> None:
            there = build.add(build.mul(d, steps), build.divide(low, _STEP))
            left = Tiles(build.add(values, build.mul(there, SQUARE * ROW)), ROW, steps * SQUARE * ROW, SQUARE * ROW)
            pairs = build.add(weights, build.mul(build.divide(low, 2), lanes))
            made = build.add(sums, build.mul(d, SQUARE * lanes))
            count = build.divide(build.sub(high, low), _STEP)
            right, into = Tiles(pairs, lanes, ROW, SQUARE * lanes), Tiles(made, lanes, SQUARE * lanes)
            amx.multiply(left, right, count, into, rows, BLOCK)

        whole = self.values_of // BLOCK * BLOCK
        each(whole, lambda d: block(d, BLOCK), step=BLOCK)
        if whole < self.values_of:
            block(build.value(whole), self.values_of - whole)
        own = self.part(self.sums, meeting.number)

        def row(d: ir.Value) -> None:
            before = self.regs.load(own, d) * Number(Emitter(), shrink.value)
            self.regs.store(before + self.regs.load(self.made, d), own, d)

        each(self.values_of * SQUARE, row)

    def _pair_weights(self, meeting: Meeting, low: Mixed, high: Mixed) -> None:
        """Weights rounded to bf16, two keys in a lane, zeros for keys that a block does not meet. Halves are rounded
        up: weights are no negative numbers."""
        pairs = replace(self.regs, element=integer(32))
        end = build.mul(build.ceildiv(meeting.high, self.regs.rows), self.regs.rows)
        zeros, half, ends = (splat(pairs.lanes, 32, x) for x in (0, 1 << 15, -1 << 16))
        shift = splat(pairs.lanes, 32, 16)

        def clear(j: ir.Value) -> None:
            pairs.store(zeros, self.weights_in_pairs, j)

        def pair(j: ir.Value) -> None:
            rows = [self.regs.load(self.weights, build.add(build.mul(j, 2), k)).value for k in range(2)]
            first, second = (arith.addi(vector.bitcast(pairs.vector, x), half) for x in rows)
            made = arith.ori(arith.shrui(first, shift), arith.andi(second, ends))
            pairs.store(made, self.weights_in_pairs, j)

        low, first, last, high = (build.divide(x, 2) for x in (low, meeting.low, end, high))
        each(first, clear, first=low)
        each(last, pair, first=first)
        each(high, clear, first=last)

    def _extremes(self, rows: ir.Value, count: Mixed) -> tuple[ir.Value, ir.Value]:
        """The smallest exponent of some rows, but of zeros, and the bits of the largest magnitude."""

        def row(j: ir.Value, found: list[ir.Value]) -> list[ir.Value]:
            def some(column: ir.Value, found: list[ir.Value]) -> list[ir.Value]:
                x = vector.load(_row_of_tile(), rows, [j, column])
                return [smaller(found[0], x), larger(found[1], x)]

            return flow.strided(0, _STEP, rows.type.shape[1], found, some)

        least, most = flow.for_loop(count, [largest(_STEP), splat(_STEP, 16, 0)], row)
        return exponent(least), arith.index_castui(build.index_type(), build.folded(most, arith.maxui))

    def _clear_row(self, rows: ir.Value, j: ir.Value, first: int = 0) -> None:
        for column in range(first, rows.type.shape[1], _STEP):
            vector.store(Emitter().constant(_row_of_tile(), 0.0), rows, [j, build.value(column)])


def _row_of_tile() -> ir.Type:
    return ir.VectorType.get([_STEP], ir.BF16Type.get())
