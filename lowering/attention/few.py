"""The inner part of attention on the CPU for few queries, as of a sequence that is generated: keys along the lanes of
vectors, and elements of values. All heads of a tile of keys are done one after another: they lie side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ragged_dialect._mlir import arith, ir, memref, tensor, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.attention.blocks import Block
from ragged_dialect.lowering.attention.forward import Forward, higher, log_of_sum
from ragged_dialect.lowering.attention.lanes import KEPT, TILE, each
from ragged_dialect.lowering.math.emitter import Emitter, Number
from ragged_dialect.lowering.math.exponential import exp2_at_most_one
from ragged_dialect.lowering.products.micro_kernel import read, transposed, write

_QUERIES = 6
"""Queries up to which each is done by itself. A key takes two instructions for each register of a head then, and about
as many as registers have lanes for the rest; with queries along lanes four for each element, whatever their number.
Head dims of 16, 64 and 128 take the same time both ways with 6 to 8 (Zen 5)."""

_SUMS = 8
"""Registers of values that are added up at once."""


class Few:
    """Emits the kernel, given the one for many queries, for static heads, of which `group` meet one of keys; `rows` are
    the most queries that it takes, 0 for none."""

    def __init__(self, many: Forward, group: int) -> None:
        self.many, self.group, (self.k, self.v) = many, group, many.others
        self.heads, self.depth, self.width = many.q.type.shape[1], many.q.type.shape[2], self.v.type.shape[2]
        self.n, self.wide = many.regs.square, many.wide
        self.lanes = ir.VectorType.get([self.n], self.wide)
        self.zero = Emitter().constant(self.lanes, 0.0)
        kept = self.heads * (self.depth + self.width) * many.regs.size
        self.rows = 0 if ir.ShapedType.is_dynamic_size(self.heads) else min(_QUERIES, KEPT // max(kept, 1))
        if self.rows:
            slots = self.rows * self.heads
            self.queries, self.sums = (many.regs.scratch(slots, max(x, 1)) for x in (self.depth, self.width))
            self.state, self.scores = many.regs.scratch(2, slots), many.regs.scratch(1, TILE + self.n)

    def run(self, block: Block, outs: Sequence[ir.Value]) -> list[ir.Value]:
        """All heads of a block; the tensors of its rows with the results in."""
        each(block.count, lambda r: each(self.heads, lambda head: self._begin(block, r, head)))
        bounds = self.many.bounds(block)

        def tile(first: ir.Value, _: list[ir.Value]) -> None:
            each(self.k.type.shape[1], lambda key_head: each(block.count, lambda r: row(first, key_head, r)))

        def row(first: ir.Value, key_head: ir.Value, r: ir.Value) -> None:
            place, own = (build.value(build.add(x, r)) for x in (block.first, block.row))
            met = self.many.bounds(replace(block, first=place, row=own, count=build.value(1)))
            low = build.maximum(build.sub(met.low, first), 0)
            high = build.minimum(build.sub(met.high, first), TILE)

            def some() -> list[ir.Value]:
                head = build.mul(key_head, self.group)
                each(self.group, lambda g: self._meet(block, r, build.add(head, g), key_head, first, low, high))
                return []

            flow.choose(build.less(low, high), some, list, [])

        flow.strided(bounds.low, TILE, bounds.high, [], tile)
        return flow.for_loop(
            block.count, outs, lambda r, x: flow.for_loop(self.heads, x, lambda head, y: self._end(r, head, y))
        )

    def _slot(self, r: ir.Value, head: Mixed) -> ir.Value:
        return build.value(build.add(build.mul(r, self.heads), head))

    def _begin(self, block: Block, r: ir.Value, head: ir.Value) -> None:
        slot = self._slot(r, head)
        factor = Emitter().constant(self.lanes, self.many.factor)
        for first, lanes in self.many.pieces(self.depth):
            found = self._read(self.many.q, build.add(block.row, r), head, build.value(first), lanes)
            self._keep(arith.mulf(found, factor), self.queries, [slot, build.value(first)], lanes)
        for first, lanes in self.many.pieces(self.width):
            self._keep(self.zero, self.sums, [slot, build.value(first)], lanes)
        for row, x in enumerate((-self.many.largest, 0.0)):
            memref.store(build.constant(self.wide, x), self.state, [build.value(row), slot])

    def _end(self, r: ir.Value, head: ir.Value, outs: list[ir.Value]) -> list[ir.Value]:
        slot = self._slot(r, head)
        top, total = (memref.load(self.state, [build.value(k), slot]) for k in range(2))
        sums = Emitter().number(total)
        scale = sums.emitter.select(sums.compare("==", 0.0), 0.0, 1.0 / sums).value  # a NaN stays one
        spread, made = vector.broadcast(self.lanes, scale), outs[0]
        for first, lanes in self.many.pieces(self.width):
            at = build.value(first)
            found = arith.mulf(self._kept(self.sums, [slot, at], lanes), spread)
            made = write(build.lanes_of(found, 0, lanes), made, [r, head, at])
        return [made, *(tensor.insert(log_of_sum(top, total), lse, [r, head]) for lse in outs[1:])]

    def _read(self, x: ir.Value, row: Mixed, head: ir.Value, d: ir.Value, lanes: int) -> ir.Value:
        return self._widened(read(x, [build.value(row), head, d], lanes, self.wide))

    def _kept(self, scratch: ir.Value, at: Sequence[ir.Value], lanes: int) -> ir.Value:
        return self._widened(vector.load(ir.VectorType.get([lanes], self.wide), scratch, at))

    def _keep(self, x: ir.Value, scratch: ir.Value, at: Sequence[ir.Value], lanes: int) -> None:
        vector.store(build.lanes_of(x, 0, lanes), scratch, at)

    def _widened(self, x: ir.Value) -> ir.Value:
        """Some elements in a register, with zeros for those that it has besides."""
        return x if x.type == self.lanes else vector.insert_strided_slice(x, self.zero, [0], [1])

    def _meet(
        self, block: Block, r: ir.Value, head: Mixed, key_head: ir.Value, first: ir.Value, low: Mixed, high: Mixed
    ) -> None:
        """One head of a query and the keys of a tile from a low place to a high one."""
        slot = self._slot(r, head)
        keys, values = (build.add(start, first) for start in block.starts)

        def products(place: ir.Value) -> None:
            vector.store(self._products(slot, key_head, keys, place, high), self.scores, [build.value(0), place])

        def score(place: ir.Value) -> None:
            numbers = (head, build.add(block.first, r), build.add(first, place))
            self.many.rescored([build.value(0), place], [block.component, *map(build.value, numbers)], self.scores)

        def found_at(place: ir.Value) -> ir.Value:
            if self.many.scored is None:
                return self.many.capped([self._products(slot, key_head, keys, place, high)])[0]
            return vector.load(self.lanes, self.scores, [build.value(0), place])

        def scores(place: ir.Value, top: list[ir.Value]) -> list[ir.Value]:
            found = found_at(place)
            there = vector.create_mask(
                ir.VectorType.get([self.n], ir.IntegerType.get_signless(1)), [build.value(build.sub(high, place))]
            )
            found = arith.select(there, found, Emitter().constant(self.lanes, -math.inf))
            vector.store(found, self.scores, [build.value(0), place])
            return [higher(found, top[0])]

        before, total = (Emitter().number(memref.load(self.state, [build.value(k), slot])) for k in range(2))
        spread = vector.broadcast(self.lanes, before.value)
        if self.many.scored is not None:
            flow.strided(low, self.n, high, [], lambda place, _: products(place))
            flow.strided(low, 1, high, [], lambda place, _: score(place))
        highest = flow.strided(low, self.n, high, [spread], scores)[0]
        top = Emitter().number(build.folded(highest, higher))
        shrink = exp2_at_most_one(before - top)
        tops = Emitter().number(vector.broadcast(self.lanes, top.value))

        def weights(place: ir.Value, so_far: list[ir.Value]) -> list[ir.Value]:
            score = Emitter().number(vector.load(self.lanes, self.scores, [build.value(0), place]))
            weight = exp2_at_most_one(score - tops)
            vector.store(weight.value, self.scores, [build.value(0), place])
            return [(Emitter().number(so_far[0]) + weight).value]

        added = flow.strided(low, self.n, high, [self.zero], weights)[0]
        total = total * Number(Emitter(), shrink.value) + Number(Emitter(), build.folded(added, arith.addf))
        for k, x in enumerate((top, total)):
            memref.store(x.value, self.state, [build.value(k), slot])
        pieces = self.many.pieces(self.width)
        for at in range(0, len(pieces), _SUMS):
            self._add(slot, key_head, values, low, high, shrink, pieces[at : at + _SUMS])

    def _products(self, slot: ir.Value, head: ir.Value, start: Mixed, place: ir.Value, high: Mixed) -> ir.Value:
        """A query times as many keys as there are lanes, from a place on; the last one again beyond the high one."""
        last = build.sub(high, 1)
        rows = [build.add(build.minimum(build.add(place, k), last), start) for k in range(self.n)]

        def piece(d: ir.Value, lanes: int, sums: Sequence[ir.Value]) -> list[ir.Value]:
            own = Emitter().number(self._kept(self.queries, [slot, d], lanes))
            keys = [Emitter().number(self._read(self.k, row, head, d, lanes)) for row in rows]
            return [(Emitter().number(x) + own * key).value for x, key in zip(sums, keys, strict=True)]

        whole = self.depth - self.depth % self.n
        sums = flow.strided(0, self.n, whole, [self.zero] * self.n, lambda d, x: piece(d, self.n, x))
        for first, lanes in self.many.pieces(self.depth):
            if first >= whole:
                sums = piece(build.value(first), lanes, sums)
        sums = transposed(sums)
        while len(sums) > 1:
            sums = [arith.addf(a, b) for a, b in zip(sums[::2], sums[1::2], strict=True)]
        return sums[0]

    def _add(
        self, slot: ir.Value, head: ir.Value, start: Mixed, low: Mixed, high: Mixed, shrink: Number,
        pieces: Sequence[tuple[int, int]],
    ) -> None:  # fmt: skip
        """Some elements of the values of a tile times their weights, on sums, which become less before."""
        places = [([slot, build.value(first)], lanes) for first, lanes in pieces]
        less = Emitter().number(vector.broadcast(self.lanes, shrink.value))
        before = [(Emitter().number(self._kept(self.sums, *place)) * less).value for place in places]

        def key(j: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
            weight = memref.load(self.scores, [build.value(0), j])
            spread = Emitter().number(vector.broadcast(self.lanes, weight))
            row = build.add(start, j)
            found = [self._read(self.v, row, head, d, lanes) for (_, d), lanes in places]
            return [
                (Emitter().number(x) + spread * Emitter().number(y)).value for x, y in zip(sums, found, strict=True)
            ]

        for (at, lanes), x in zip(places, flow.strided(low, 1, high, before, key), strict=True):
            self._keep(x, self.sums, at, lanes)
