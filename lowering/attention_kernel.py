"""The inner part of attention on the CPU: a block of queries along the lanes of vectors.

Keys and values are read where they are, one element for all lanes, so that no sum goes across lanes; only the block of
queries is transposed. The softmax is kept as maximum and sum of what was seen (scores in base 2): no scores in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, memref, tensor, vector
from ragged_dialect._mlir import math as math_ops
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.host_cpu import host_has
from ragged_dialect.lowering.math_emitter import Emitter, Number
from ragged_dialect.lowering.math_exponential import exp2_at_most_one, tanh
from ragged_dialect.ops.attention import AttentionOp, wide

_REGISTERS = 2
"""Vector registers of a block of queries: each element of a key is used as often."""


@dataclass(frozen=True)
class Shape:
    """What is static of the kernel: lanes, keys at a time, head dims of q and v, and the types."""

    lanes: int
    keys: int
    depth: int
    width: int
    element: ir.Type

    @staticmethod
    def of(element: ir.Type, depth: int, width: int) -> Shape:
        """For this machine: a register of scores per key and half of the block, and some to spare."""
        wider = 64 if host_has("avx512f") else 32 if host_has("avx2") else 16
        size = 8 if isinstance(wide(element), ir.F64Type) else 4
        return Shape(_REGISTERS * wider // size, 8 if wider == 64 else 4, depth, width, element)

    @property
    def wide(self) -> ir.Type:
        """The type that is computed in."""
        return wide(self.element)

    @property
    def vector(self) -> ir.Type:
        """A lane per query."""
        return ir.VectorType.get([self.lanes], self.wide)


@dataclass(frozen=True)
class Block:
    """A block of queries of a component: the first one's number there and its row, how many they are, and the
    component's first rows and number of keys and values; `shift` as for `Keys`."""

    first: ir.Value
    row: ir.Value
    count: ir.Value
    key: Mixed
    value: Mixed
    keys: Mixed
    shift: Mixed


class Kernel:
    """Emits the kernel; `q`, `k` and `v` are dense [rows, heads, head dim]."""

    def __init__(self, shape: Shape, op: AttentionOp, inputs: Sequence[ir.Value]) -> None:
        self.shape, self.visible, self.cap = shape, op.visible, op.cap
        self.q, self.k, self.v = inputs
        self.scale = op.scale.value * (1 / math.log(2) if self.cap is None else 1 / self.cap)  # scores in base 2
        self.queries = self._scratch(shape.depth)
        self.sums = self._scratch(shape.width)
        self.rows = self._scratch(2)

    def _scratch(self, rows: int) -> ir.Value:
        return memref.AllocaOp(ir.MemRefType.get([rows, self.shape.lanes], self.shape.wide), [], []).result

    def run(
        self, block: Block, head: ir.Value, key_head: ir.Value, o: ir.Value, lse: ir.Value | None
    ) -> list[ir.Value]:
        """One head of a block; the tensors of its rows with the results in."""
        self._load(block, head)
        low, full, stop, high = self._bounds(block)
        state = [self._splat(-self._largest), self._splat(0.0)]
        n = self.shape.keys
        if self.visible.left is not None:
            state = flow.strided(low, n, full, state, lambda j, s: self._step(block, key_head, j, s, full))
        state = flow.strided(full, n, stop, state, lambda j, s: self._step(block, key_head, j, s, None))
        state = flow.strided(stop, n, high, state, lambda j, s: self._step(block, key_head, j, s, high))
        return self._store(block, head, state, o, lse)

    @property
    def _largest(self) -> float:
        return 1.7976931348623157e308 if isinstance(self.shape.wide, ir.F64Type) else 3.4028234663852886e38

    # Queries and results ------------------------------------------------------------------------------

    def _load(self, block: Block, head: ir.Value) -> None:
        """The queries transposed and scaled, 0 in lanes without one; sums of 0."""
        zero = self._splat(0.0)
        for scratch, rows in ((self.queries, self.shape.depth), (self.sums, self.shape.width)):
            _each(rows, lambda d, scratch=scratch: vector.store(zero, scratch, [d, build.value(0)]))
        factor = build.constant(self.shape.wide, self.scale)

        def load(r: ir.Value) -> None:
            row = build.add(r, block.row)

            def one(d: ir.Value) -> None:
                found = arith.mulf(self._widened(tensor.extract(self.q, [row, head, d])), factor)
                memref.store(found, self.queries, [d, r])

            _each(self.shape.depth, one)

        _each(block.count, load)

    def _store(
        self, block: Block, head: ir.Value, state: Sequence[ir.Value], o: ir.Value, lse: ir.Value | None
    ) -> list[ir.Value]:
        emitter = Emitter()
        top, total = map(emitter.number, state)
        seen = emitter.select(total.compare("==", 0.0), 0.0, 1.0 / total)  # a NaN stays one

        def finish(d: ir.Value) -> None:
            at = [d, build.value(0)]
            vector.store(arith.mulf(vector.load(self.shape.vector, self.sums, at), seen.value), self.sums, at)

        _each(self.shape.width, finish)
        outs = [o]
        if lse is not None:
            outs.append(lse)
            for row, x in enumerate((top, total)):
                vector.store(x.value, self.rows, [build.value(row), build.value(0)])

        def store(r: ir.Value, made: list[ir.Value]) -> list[ir.Value]:
            found = flow.for_loop(self.shape.width, made[:1], lambda d, x: [self._stored(x[0], r, head, d)])
            return found if lse is None else [*found, tensor.insert(self._sum_of(r), made[1], [r, head])]

        return flow.for_loop(block.count, outs, store)

    def _stored(self, o: ir.Value, r: ir.Value, head: ir.Value, d: ir.Value) -> ir.Value:
        found = memref.load(self.sums, [d, r])
        if self.shape.element != self.shape.wide:
            found = arith.truncf(self.shape.element, found)
        return tensor.insert(found, o, [r, head, d])

    def _sum_of(self, r: ir.Value) -> ir.Value:
        """The log of a row's sum of exponentials."""
        top, total = (memref.load(self.rows, [build.value(k), r]) for k in range(2))
        return arith.addf(arith.mulf(top, build.constant(self.shape.wide, math.log(2))), math_ops.log(total))

    # Keys ----------------------------------------------------------------------------------------------

    def _bounds(self, block: Block) -> tuple[Mixed, Mixed, Mixed, Mixed]:
        """The keys that a query of the block sees, low to high, and of these those that all do, in whole steps: from
        the second to the third."""
        first = build.add(block.first, block.shift)
        last = build.add(first, build.sub(block.count, 1))
        low: Mixed = 0
        full: Mixed = 0
        high, stop = block.keys, block.keys
        left, right = self.visible.left, self.visible.right
        if right is not None:
            high = _clamped(build.add(last, right + 1), 0, block.keys)
            stop = _clamped(build.add(first, right + 1), 0, high)
        if left is not None:
            low = _clamped(build.sub(first, left), 0, high)
            full = _clamped(build.sub(last, left), low, high)
            stop = build.maximum(stop, full)
        n = self.shape.keys
        whole = build.mul(arith.divui(build.value(build.sub(stop, full)), build.value(n)), build.value(n))
        return low, full, build.add(full, whole), high

    def _step(
        self, block: Block, head: ir.Value, first: ir.Value, state: Sequence[ir.Value], end: Mixed | None
    ) -> list[ir.Value]:
        """Some keys; with `end` those before it that a query sees."""
        emitter = Emitter()
        keys = [build.add(first, k) for k in range(self.shape.keys)]
        there = keys if end is None else [build.minimum(k, build.sub(end, 1)) for k in keys]
        scores = [emitter.number(s) for s in self._scores([build.add(k, block.key) for k in there], head)]
        if self.cap is not None:
            scores = [tanh(x) * (self.cap / math.log(2)) for x in scores]
        seen = [None if end is None else self._seen(block, k, end) for k in keys]
        scores = [x if s is None else emitter.select(s, x, -math.inf) for x, s in zip(scores, seen, strict=True)]
        top, total = (emitter.number(x) for x in state)
        higher = top
        for x in scores:  # a NaN may be passed over: it comes back with its own difference
            higher = emitter.select(x.compare(">", higher), x, higher)
        shrink = exp2_at_most_one(top - higher)
        weights = [exp2_at_most_one(x - higher) for x in scores]
        weights = [w if s is None else emitter.select(s, w, 0.0) for w, s in zip(weights, seen, strict=True)]
        total = total * shrink
        for w in weights:
            total = total + w
        self._add([build.add(k, block.value) for k in there], head, weights, shrink)
        return [higher.value, total.value]

    def _scores(self, rows: Sequence[ir.Value], head: ir.Value) -> list[ir.Value]:
        def step(d: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
            emitter = Emitter()
            query = emitter.number(vector.load(self.shape.vector, self.queries, [d, build.value(0)]))
            keys = [emitter.number(self._everywhere(self.k, row, head, d)) for row in rows]
            return [(emitter.number(s) + key * query).value for s, key in zip(sums, keys, strict=True)]

        return flow.for_loop(self.shape.depth, [self._splat(0.0)] * len(rows), step)

    def _add(self, rows: Sequence[ir.Value], head: ir.Value, weights: Sequence[Number], shrink: Number) -> None:
        """Values times weights, on sums that have become less."""

        def step(d: ir.Value) -> None:
            emitter = Emitter()
            at = [d, build.value(0)]
            total = emitter.number(vector.load(self.shape.vector, self.sums, at)) * emitter.number(shrink.value)
            for row, weight in zip(rows, weights, strict=True):
                total = total + emitter.number(self._everywhere(self.v, row, head, d)) * weight
            vector.store(total.value, self.sums, at)

        _each(self.shape.width, step)

    def _seen(self, block: Block, key: ir.Value, end: Mixed) -> ir.Value:
        """The lanes whose query sees a key: those between two bounds."""
        n, i32 = self.shape.lanes, ir.IntegerType.get_signless(32)
        lanes_type = ir.VectorType.get([n], i32)
        numbers = ir.DenseElementsAttr.get([ir.IntegerAttr.get(i32, k) for k in range(n)], lanes_type)
        lanes = arith.ConstantOp(lanes_type, numbers).result
        lane = build.sub(key, build.add(block.first, block.shift))  # the query at the same place

        def bound(x: Mixed) -> ir.Value:
            return vector.broadcast(lanes_type, arith.index_cast(i32, _clamped(build.value(x), -1, n)))

        left, right = self.visible.left, self.visible.right
        lowest = 0 if right is None else build.sub(lane, right)
        lowest = arith.select(build.less(key, end), build.value(lowest), build.value(n))
        seen = arith.cmpi(arith.CmpIPredicate.sge, lanes, bound(lowest))
        if left is None:
            return seen
        return arith.andi(seen, arith.cmpi(arith.CmpIPredicate.sle, lanes, bound(build.add(lane, left))))

    # Elements ------------------------------------------------------------------------------------------

    def _everywhere(self, x: ir.Value, row: ir.Value, head: ir.Value, d: ir.Value) -> ir.Value:
        return vector.broadcast(self.shape.vector, self._widened(tensor.extract(x, [row, head, d])))

    def _widened(self, x: ir.Value) -> ir.Value:
        return x if x.type == self.shape.wide else arith.extf(self.shape.wide, x)

    def _splat(self, number: float) -> ir.Value:
        return Emitter().constant(self.shape.vector, number)


def _each(count: Mixed, body: Callable[[ir.Value], object]) -> None:
    def step(i: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
        body(i)
        return []

    flow.for_loop(count, [], step)


def _clamped(x: ir.Value, low: Mixed, high: Mixed) -> ir.Value:
    return build.minimum(build.maximum(x, low), high)
