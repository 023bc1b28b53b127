"""What the kernels of attention share: rows of a component along the lanes of vectors, and other rows that all lanes
meet one after another, each read where it is, one element for all lanes, so that no sum goes across lanes.

Only the rows along lanes and the results are transposed, squares of them in registers. What a tile of rows needs again,
as scores, is in memory for that tile only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragged_dialect._mlir import arith, ir, memref, tensor, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.math_emitter import Emitter, Number
from ragged_dialect.lowering.math_exponential import tanh
from ragged_dialect.lowering.micro_kernel import RegisterBlock, read, transposed, write
from ragged_dialect.ops.attention import Attention, Keys, wide

TILE = 64
"""Rows whose scores are kept: 8 KiB of a first cache of 32, and sums are read and written once for them."""


@dataclass(frozen=True)
class Block:
    """A block of rows of a component along the lanes: the first one's number there and its row, how many they are;
    where the component's rows that they meet begin in either tensor, and how many these are; `shift` as for `Keys`."""

    first: ir.Value
    row: ir.Value
    count: ir.Value
    starts: tuple[Mixed, Mixed]
    others: Mixed
    shift: Mixed


class Bounds(NamedTuple):
    """The rows that some lane of a block meets, low to high, and of these those that all do, full to stop."""

    low: Mixed
    full: Mixed
    stop: Mixed
    high: Mixed


class Lanes:
    """Emits parts of kernels; `others` are the rows that lanes meet, in two tensors [rows, heads, dim], of which the
    first makes scores, and `visible` those that a lane does meet."""

    def __init__(self, op: Attention, visible: Keys, others: Sequence[ir.Value]) -> None:
        self.visible, self.cap, self.others = visible, op.cap, others
        element = op.q.type.element_type
        self.wide = wide(element)
        self.regs = RegisterBlock.of(self.wide)
        self.factor = op.scale.value * (1 / math.log(2) if self.cap is None else 1 / self.cap)
        """What makes scores in base 2 of products, or what tanh takes."""
        self.short = self.wide != element
        self.tiles = [self.regs.scratch(TILE, _width(x)) for x in others] if self.short else []
        self.turned = self.regs.scratch(self.regs.lanes, self.regs.square)

    # Rows along lanes, and results ----------------------------------------------------------------------

    def columns(self, x: ir.Value) -> ir.Value:
        """Scratch for the rows of a block of a tensor, transposed."""
        return self.regs.scratch(_width(x))

    def clear(self, *scratch: ir.Value) -> None:
        """Zeros."""
        zero = self.regs.splat(0.0)
        for x in scratch:
            each(x.type.shape[0], lambda d, x=x: self.regs.store(zero, x, d))

    def load(self, x: ir.Value, into: ir.Value, block: Block, head: ir.Value, scale: float) -> None:
        """The rows of a block, scaled; lanes without one have numbers nobody reads."""
        self.clear(into)
        n, width, last = self.regs.square, _width(x), build.sub(block.count, 1)
        factor = build.constant(self.wide, scale)
        spread = vector.broadcast(ir.VectorType.get([n], self.wide), factor)

        def square(r: ir.Value, d: ir.Value) -> None:
            rows = [build.add(build.minimum(build.add(r, k), last), block.row) for k in range(n)]
            found = [arith.mulf(read(x, [row, head, d], n, self.wide), spread) for row in rows]
            for k, column in enumerate(transposed(found)):
                vector.store(column, into, [build.add(d, k), r])

        def one(r: ir.Value, d: ir.Value) -> None:
            found = self._element(x, build.add(r, block.row), head, d)
            memref.store(arith.mulf(found, factor), into, [d, r])

        whole = width - width % n
        each(block.count, lambda r: each(whole, lambda d: square(r, d), step=n), step=n)
        each(block.count, lambda r: each(width, lambda d: one(r, d), first=whole))

    def store(self, sums: ir.Value, into: ir.Value, count: ir.Value, head: ir.Value, scale: ir.Value) -> ir.Value:
        """The rows of a block in a tensor of them, each of its lane's sums times a row of factors."""
        width = sums.type.shape[0]
        each(width, lambda d: self.regs.store(self.regs.load(sums, d) * Number(Emitter(), scale), sums, d))
        n, first = self.regs.square, width - width % self.regs.square
        made = flow.strided(0, n, first, [into], lambda d, x: [self._stored(sums, count, head, d, x[0])])

        def store(r: ir.Value, x: list[ir.Value]) -> list[ir.Value]:
            return flow.strided(first, 1, width, x, lambda d, y: [self._inserted(sums, r, head, d, y[0])])

        return (flow.for_loop(count, made, store) if first < width else made)[0]

    def _stored(self, sums: ir.Value, count: ir.Value, head: ir.Value, d: ir.Value, into: ir.Value) -> ir.Value:
        """Columns from d on, as many as a register has lanes, transposed."""
        n = self.regs.square
        type_ = ir.VectorType.get([n], self.wide)

        def square(r: ir.Value) -> None:
            rows = [vector.load(type_, sums, [build.add(d, k), r]) for k in range(n)]
            for k, x in enumerate(transposed(rows)):
                vector.store(x, self.turned, [build.add(r, k), build.value(0)])

        def row(r: ir.Value, made: list[ir.Value]) -> list[ir.Value]:
            return [write(vector.load(type_, self.turned, [r, build.value(0)]), made[0], [r, head, d])]

        each(count, square, step=n)
        return flow.for_loop(count, [into], row)[0]

    def _inserted(self, sums: ir.Value, r: ir.Value, head: ir.Value, d: ir.Value, into: ir.Value) -> ir.Value:
        found = memref.load(sums, [d, r])
        if into.type.element_type != self.wide:
            found = arith.truncf(into.type.element_type, found)
        return tensor.insert(found, into, [r, head, d])

    # Rows that lanes meet ---------------------------------------------------------------------------------

    def bounds(self, block: Block) -> Bounds:
        """Which of the component's other rows a block meets."""
        first = build.add(block.first, block.shift)
        last = build.add(first, build.sub(block.count, 1))
        low: Mixed = 0
        full: Mixed = 0
        high, stop = block.others, block.others
        left, right = self.visible.left, self.visible.right
        if right is not None:
            high = _clamped(build.add(last, right + 1), 0, block.others)
            stop = _clamped(build.add(first, right + 1), 0, high)
        if left is not None:
            low = _clamped(build.sub(first, left), 0, high)
            full = _clamped(build.sub(last, left), low, high)
            stop = build.maximum(stop, full)
        return Bounds(low, full, stop, high)

    def tile(self, block: Block, bounds: Bounds, head: ir.Value, first: ir.Value) -> Mixed:
        """Make a tile of rows from `first` on ready; how many they are."""
        count = build.minimum(build.sub(bounds.high, first), TILE)
        if self.short:
            for x, start, into in zip(self.others, block.starts, self.tiles, strict=True):
                self._widen(x, build.add(first, start), head, count, into)
        return count

    def _widen(self, x: ir.Value, start: ir.Value, head: ir.Value, count: Mixed, into: ir.Value) -> None:
        """The rows of a tile in f32, each of which all lanes read again and again."""
        width, n = _width(x), self.regs.square
        whole = width - width % n

        def row(j: ir.Value) -> None:
            at = build.add(j, start)
            each(whole, lambda d: vector.store(read(x, [at, head, d], n, self.wide), into, [j, d]), step=n)
            each(width, lambda d: memref.store(self._element(x, at, head, d), into, [j, d]), first=whole)

        each(count, row)

    def products(
        self, number: int, columns: ir.Value, block: Block, bounds: Bounds, head: ir.Value, first: ir.Value,
        rows: Sequence[ir.Value],
    ) -> list[ir.Value]:  # fmt: skip
        """The products of lanes with some rows of a tile of one of the tensors; with the last where there is none."""
        seen = [build.minimum(row, build.sub(bounds.high, 1)) for row in rows]
        places = [build.sub(row, first) if self.short else build.add(row, block.starts[number]) for row in seen]
        return self.regs.product(
            _width(self.others[number]),
            [self.regs.splat(0.0)] * len(rows),
            lambda d: [self._factor(number, build.value(place), head, d) for place in places],
            lambda d: self.regs.load(columns, d).value,
        )

    def capped(self, products: Sequence[ir.Value]) -> tuple[list[ir.Value], list[Number] | None]:
        """Scores in base 2, and where there is a softcap what tanh gives for them."""
        if self.cap is None:
            return list(products), None
        emitter = Emitter()
        parts = [tanh(emitter.number(x)) for x in products]
        return [(x * (self.cap / math.log(2))).value for x in parts], parts

    def masked(self, block: Block, bounds: Bounds, rows: Sequence[ir.Value], scores: list[ir.Value]) -> list[ir.Value]:
        """Scores with -inf where a lane does not meet a row."""

        def some() -> list[ir.Value]:
            hidden = self.regs.splat(-math.inf)
            return [
                arith.select(self._seen(block, row, bounds.high), x, hidden)
                for row, x in zip(rows, scores, strict=True)
            ]

        before = build.at_most(build.add(rows[-1], 1), bounds.stop)
        every = arith.andi(build.at_least(rows[0], bounds.full), before)
        return flow.choose(every, lambda: scores, some, [x.type for x in scores])

    def _seen(self, block: Block, row: ir.Value, end: Mixed) -> ir.Value:
        """The lanes that meet a row: those between two bounds."""
        n, i32 = self.regs.lanes, ir.IntegerType.get_signless(32)
        lanes_type = ir.VectorType.get([n], i32)
        numbers = ir.DenseElementsAttr.get([ir.IntegerAttr.get(i32, k) for k in range(n)], lanes_type)
        lanes = arith.ConstantOp(lanes_type, numbers).result
        lane = build.sub(row, build.add(block.first, block.shift))  # the one at the same place

        def bound(x: Mixed) -> ir.Value:
            return vector.broadcast(lanes_type, arith.index_cast(i32, _clamped(build.value(x), -1, n)))

        left, right = self.visible.left, self.visible.right
        lowest = 0 if right is None else build.sub(lane, right)
        lowest = arith.select(build.less(row, end), build.value(lowest), build.value(n))
        seen = arith.cmpi(arith.CmpIPredicate.sge, lanes, bound(lowest))
        if left is None:
            return seen
        return arith.andi(seen, arith.cmpi(arith.CmpIPredicate.sle, lanes, bound(build.add(lane, left))))

    def add(
        self, number: int, sums: ir.Value, weights: ir.Value, block: Block, head: ir.Value, first: ir.Value,
        count: Mixed, shrink: Number | None = None,
    ) -> None:  # fmt: skip
        """A tile's rows of one of the tensors times their weights, on sums, which become less before."""
        start, width = build.add(first, block.starts[number]), sums.type.shape[0]

        def before(d: ir.Value) -> ir.Value:
            found = self.regs.load(sums, d)
            return found.value if shrink is None else (found * Number(Emitter(), shrink.value)).value

        def columns(place: ir.Value, many: int) -> None:
            at = [build.add(place, k) for k in range(many)]
            made = self.regs.product(
                count,
                list(map(before, at)),
                lambda j: [self._factor(number, j if self.short else build.add(start, j), head, d) for d in at],
                lambda j: self.regs.load(weights, j).value,
            )
            for d, x in zip(at, made, strict=True):
                self.regs.store(x, sums, d)

        n, rest = self.regs.rows, width % self.regs.rows
        each(width - rest, lambda d: columns(d, n), step=n)
        if rest:
            columns(build.value(width - rest), rest)

    def _factor(self, number: int, row: ir.Value, head: ir.Value, d: ir.Value) -> ir.Value:
        """An element of a tensor of others: by row, or by place in the tile where that was widened."""
        if self.short:
            return memref.load(self.tiles[number], [row, d])
        return self._element(self.others[number], row, head, d)

    def _element(self, x: ir.Value, row: ir.Value, head: ir.Value, d: ir.Value) -> ir.Value:
        found = tensor.extract(x, [row, head, d])
        return found if found.type == self.wide else arith.extf(self.wide, found)


def each(count: Mixed, body: Callable[[ir.Value], object], first: int = 0, step: int = 1) -> None:
    """The body for first, first + step, … below a count; nothing where it is known that there are none."""

    def once(i: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
        body(i)
        return []

    if not (isinstance(count, int) and count <= first):
        flow.strided(first, step, count, [], once)


def _width(x: ir.Value) -> int:
    return int(x.type.shape[2])


def _clamped(x: ir.Value, low: Mixed, high: Mixed) -> ir.Value:
    return build.minimum(build.maximum(x, low), high)
