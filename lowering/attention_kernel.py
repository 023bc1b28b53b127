"""The inner part of attention on the CPU: a block of queries along the lanes of vectors.

Keys and values are read where they are, one element for all lanes, so that no sum goes across lanes; only queries and
results are transposed, squares of them in registers. The softmax is kept as maximum and sum of what was seen (scores in
base 2), and scores are in memory for a tile of keys only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragged_dialect._mlir import arith, ir, memref, tensor, vector
from ragged_dialect._mlir import math as math_ops
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.math_emitter import Emitter, Number
from ragged_dialect.lowering.math_exponential import exp2_at_most_one, tanh
from ragged_dialect.lowering.micro_kernel import RegisterBlock, read, transposed, write
from ragged_dialect.ops.attention import AttentionOp, wide

_TILE = 64
"""Keys whose scores are kept: 8 KiB of a first cache of 32, and sums of values are read and written once for them."""


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


class Bounds(NamedTuple):
    """The keys that a query of a block sees, low to high, and of these those that all do, full to stop."""

    low: Mixed
    full: Mixed
    stop: Mixed
    high: Mixed


class Kernel:
    """Emits the kernel; `q`, `k` and `v` are dense [rows, heads, head dim]."""

    def __init__(self, op: AttentionOp, inputs: Sequence[ir.Value]) -> None:
        self.visible, self.cap = op.visible, op.cap
        self.q, self.k, self.v = inputs
        self.depth, self.width = (int(x.type.shape[2]) for x in (self.q, self.v))
        self.wide = wide(self.q.type.element_type)
        self.regs = RegisterBlock.of(self.wide)
        self.scale = op.scale.value * (1 / math.log(2) if self.cap is None else 1 / self.cap)  # scores in base 2
        self.queries = self.regs.scratch(self.depth)
        self.sums = self.regs.scratch(self.width)
        self.scores = self.regs.scratch(_TILE)
        self.rows = self.regs.scratch(2)
        self.short = self.wide != self.q.type.element_type
        self.tiles = [self.regs.scratch(_TILE, x) for x in (self.depth, self.width)] if self.short else []
        self.turned = self.regs.scratch(self.regs.lanes, self.regs.square)

    def run(
        self, block: Block, head: ir.Value, key_head: ir.Value, o: ir.Value, lse: ir.Value | None
    ) -> list[ir.Value]:
        """One head of a block; the tensors of its rows with the results in."""
        self._load(block, head)
        bounds = self._bounds(block)
        state = [self.regs.splat(-self._largest), self.regs.splat(0.0)]
        state = flow.strided(
            bounds.low, _TILE, bounds.high, state, lambda j, s: self._tile(block, bounds, key_head, j, s)
        )
        return self._store(block, head, state, o, lse)

    @property
    def _largest(self) -> float:
        return 1.7976931348623157e308 if isinstance(self.wide, ir.F64Type) else 3.4028234663852886e38

    # Queries and results ------------------------------------------------------------------------------

    def _load(self, block: Block, head: ir.Value) -> None:
        """The queries transposed and scaled; sums of 0."""
        zero = self.regs.splat(0.0)
        for scratch, rows in ((self.queries, self.depth), (self.sums, self.width)):
            _each(rows, lambda d, scratch=scratch: self.regs.store(zero, scratch, d))
        n, last = self.regs.square, build.sub(block.count, 1)
        factor = build.constant(self.wide, self.scale)
        spread = vector.broadcast(ir.VectorType.get([n], self.wide), factor)

        def square(r: ir.Value, d: ir.Value) -> None:
            rows = [build.add(build.minimum(build.add(r, k), last), block.row) for k in range(n)]
            found = [arith.mulf(read(self.q, [row, head, d], n, self.wide), spread) for row in rows]
            for k, x in enumerate(transposed(found)):
                vector.store(x, self.queries, [build.add(d, k), r])

        def one(r: ir.Value, d: ir.Value) -> None:
            found = self._element(self.q, build.add(r, block.row), head, d)
            memref.store(arith.mulf(found, factor), self.queries, [d, r])

        whole = self.depth - self.depth % n
        _each(block.count, lambda r: _each(whole, lambda d: square(r, d), step=n), step=n)
        _each(block.count, lambda r: _each(self.depth, lambda d: one(r, d), first=whole))

    def _store(
        self, block: Block, head: ir.Value, state: Sequence[ir.Value], o: ir.Value, lse: ir.Value | None
    ) -> list[ir.Value]:
        emitter = Emitter()
        top, total = map(emitter.number, state)
        seen = emitter.select(total.compare("==", 0.0), 0.0, 1.0 / total)  # a NaN stays one
        _each(self.width, lambda d: self.regs.store(self.regs.load(self.sums, d) * seen, self.sums, d))
        n, first = self.regs.square, self.width - self.width % self.regs.square
        made = flow.strided(0, n, first, [o], lambda d, x: [self._stored(block.count, head, d, x[0])])

        def store(r: ir.Value, x: list[ir.Value]) -> list[ir.Value]:
            return flow.strided(first, 1, self.width, x, lambda d, y: [self._inserted(r, head, d, y[0])])

        if first < self.width:
            made = flow.for_loop(block.count, made, store)
        if lse is None:
            return made
        for row, x in enumerate((top, total)):
            self.regs.store(x, self.rows, row)
        return [
            *made,
            *flow.for_loop(block.count, [lse], lambda r, x: [tensor.insert(self._sum_of(r), x[0], [r, head])]),
        ]

    def _stored(self, count: ir.Value, head: ir.Value, d: ir.Value, o: ir.Value) -> ir.Value:
        """Columns from d on, as many as a register has lanes, transposed."""
        n = self.regs.square
        type_ = ir.VectorType.get([n], self.wide)

        def square(r: ir.Value) -> None:
            rows = [vector.load(type_, self.sums, [build.add(d, k), r]) for k in range(n)]
            for k, x in enumerate(transposed(rows)):
                vector.store(x, self.turned, [build.add(r, k), build.value(0)])

        def row(r: ir.Value, made: list[ir.Value]) -> list[ir.Value]:
            return [write(vector.load(type_, self.turned, [r, build.value(0)]), made[0], [r, head, d])]

        _each(count, square, step=n)
        return flow.for_loop(count, [o], row)[0]

    def _inserted(self, r: ir.Value, head: ir.Value, d: ir.Value, o: ir.Value) -> ir.Value:
        found = memref.load(self.sums, [d, r])
        if o.type.element_type != self.wide:
            found = arith.truncf(o.type.element_type, found)
        return tensor.insert(found, o, [r, head, d])

    def _sum_of(self, r: ir.Value) -> ir.Value:
        """The log of a row's sum of exponentials."""
        top, total = (memref.load(self.rows, [build.value(k), r]) for k in range(2))
        return arith.addf(arith.mulf(top, build.constant(self.wide, math.log(2))), math_ops.log(total))

    # Keys ----------------------------------------------------------------------------------------------

    def _bounds(self, block: Block) -> Bounds:
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
        return Bounds(low, full, stop, high)

    def _tile(
        self, block: Block, bounds: Bounds, head: ir.Value, first: ir.Value, state: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """A tile of keys: scores, their exponentials, and values times these."""
        n, count = self.regs.rows, build.minimum(build.sub(bounds.high, first), _TILE)
        if self.short:
            for x, start, into in zip((self.k, self.v), (block.key, block.value), self.tiles, strict=True):
                self._widen(x, build.add(first, start), head, count, into)

        def scores(place: ir.Value, top: list[ir.Value]) -> list[ir.Value]:
            keys = [build.add(build.add(first, place), k) for k in range(n)]
            found = self._masked(block, bounds, keys, self._scores(block, bounds, head, first, keys))
            return [self._highest(place, found, top[0])]

        top = flow.strided(0, n, count, state[:1], scores)
        emitter = Emitter()
        shrink = exp2_at_most_one(emitter.number(state[0]) - emitter.number(top[0]))
        total = [(emitter.number(state[1]) * shrink).value]
        total = flow.strided(0, n, count, total, lambda place, x: [self._weights(place, top[0], x[0])])
        self._add(build.add(first, block.value), head, count, shrink)
        return [*top, *total]

    def _widen(self, x: ir.Value, start: ir.Value, head: ir.Value, count: Mixed, into: ir.Value) -> None:
        """The rows of a tile in f32, each of which all lanes read again and again."""
        width, n = int(x.type.shape[2]), self.regs.square
        whole = width - width % n

        def row(j: ir.Value) -> None:
            at = build.add(j, start)
            _each(whole, lambda d: vector.store(read(x, [at, head, d], n, self.wide), into, [j, d]), step=n)
            _each(width, lambda d: memref.store(self._element(x, at, head, d), into, [j, d]), first=whole)

        _each(count, row)

    def _scores(
        self, block: Block, bounds: Bounds, head: ir.Value, first: ir.Value, keys: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """The scores of some keys; of the last one where there is none."""
        seen = [build.minimum(key, build.sub(bounds.high, 1)) for key in keys]
        places = [build.sub(key, first) if self.short else build.add(key, block.key) for key in seen]
        found = self.regs.product(
            self.depth,
            [self.regs.splat(0.0)] * len(keys),
            lambda d: [self._factor(0, build.value(place), head, d) for place in places],
            lambda d: self.regs.load(self.queries, d).value,
        )
        if self.cap is None:
            return found
        emitter = Emitter()
        return [(tanh(emitter.number(x)) * (self.cap / math.log(2))).value for x in found]

    def _masked(self, block: Block, bounds: Bounds, keys: Sequence[ir.Value], scores: list[ir.Value]) -> list[ir.Value]:
        """Scores with -inf where a query does not see a key."""

        def some() -> list[ir.Value]:
            hidden = self.regs.splat(-math.inf)
            return [
                arith.select(self._seen(block, key, bounds.high), x, hidden)
                for key, x in zip(keys, scores, strict=True)
            ]

        before = build.at_most(build.add(keys[-1], 1), bounds.stop)
        every = arith.andi(build.at_least(keys[0], bounds.full), before)
        return flow.choose(every, lambda: scores, some, [x.type for x in scores])

    def _highest(self, place: ir.Value, scores: Sequence[ir.Value], top: ir.Value) -> ir.Value:
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

    def _add(self, first: ir.Value, head: ir.Value, count: Mixed, shrink: Number) -> None:
        """Values times weights, on sums that have become less."""

        def columns(place: ir.Value, many: int) -> None:
            at = [build.add(place, k) for k in range(many)]
            sums = self.regs.product(
                count,
                [(self.regs.load(self.sums, d) * Number(Emitter(), shrink.value)).value for d in at],
                lambda j: [self._factor(1, j if self.short else build.add(first, j), head, d) for d in at],
                lambda j: self.regs.load(self.scores, j).value,
            )
            for d, x in zip(at, sums, strict=True):
                self.regs.store(x, self.sums, d)

        n, rest = self.regs.rows, self.width % self.regs.rows
        _each(self.width - rest, lambda d: columns(d, n), step=n)
        if rest:
            columns(build.value(self.width - rest), rest)

    def _seen(self, block: Block, key: ir.Value, end: Mixed) -> ir.Value:
        """The lanes whose query sees a key: those between two bounds."""
        n, i32 = self.regs.lanes, ir.IntegerType.get_signless(32)
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

    def _factor(self, number: int, row: ir.Value, head: ir.Value, d: ir.Value) -> ir.Value:
        """An element of keys (0) or values (1): by row, or by place in the tile where that was widened."""
        if self.short:
            return memref.load(self.tiles[number], [row, d])
        return self._element((self.k, self.v)[number], row, head, d)

    def _element(self, x: ir.Value, row: ir.Value, head: ir.Value, d: ir.Value) -> ir.Value:
        found = tensor.extract(x, [row, head, d])
        return found if found.type == self.wide else arith.extf(self.wide, found)


def _each(count: Mixed, body: Callable[[ir.Value], object], first: int = 0, step: int = 1) -> None:
    """The body for first, first + step, … below a count; nothing where it is known that there are none."""

    def once(i: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
        body(i)
        return []

    if not (isinstance(count, int) and count <= first):
        flow.strided(first, step, count, [], once)


def _clamped(x: ir.Value, low: Mixed, high: Mixed) -> ir.Value:
    return build.minimum(build.maximum(x, low), high)
