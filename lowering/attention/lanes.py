"""What the kernels of attention share: rows of a component along the lanes of vectors, and other rows that all lanes
meet one after another, one element for all lanes at a time, so that no sum goes across lanes.

Only the rows along lanes and the results are transposed, squares of them in registers. A tile of the other rows is
copied, for a few blocks of lanes one after another: where they are, rows lie apart by all heads, often a power of two
that leaves them few sets of a cache, and each block would read them from farther than that. Scores are in memory for a
tile and a block only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from ragged_dialect._mlir import arith, ir, memref, tensor, vector
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap, inlined
from ragged_dialect.ir.memory import buffer_of
from ragged_dialect.lowering.attention.blocks import Ahead, Block, Bounds, Meeting
from ragged_dialect.lowering.attention.staged import Staged
from ragged_dialect.lowering.buffers.subviews import subview
from ragged_dialect.lowering.math.emitter import Emitter, Number
from ragged_dialect.lowering.math.exponential import tanh
from ragged_dialect.lowering.products.micro_kernel import RegisterBlock, read, transposed, write
from ragged_dialect.lowering.vector.machine import CACHE_LINE
from ragged_dialect.ops.attention import Attention, wide
from ragged_dialect.passes.differentiate.values import converted

TILE = 64
"""Rows whose scores are kept: 8 KiB of a first cache of 32, and sums are read and written once for them."""

_BLOCKS = 4
"""Blocks that share a tile. A register of it is stored once for as many fused multiply-adds in each block as it has
elements and a row of lanes has registers: 3% for four of them. More would leave few iterations to threads."""

KEPT = 512 << 10
"""Bytes that blocks keep over all tiles: half of a second cache of 1 MiB, as for strips of products."""


def blocks_of(regs: RegisterBlock, widths: Sequence[int]) -> int:
    """How many blocks share a tile, when each keeps so many rows of lanes, if any."""
    return max(1, min(_BLOCKS, KEPT // max(1, sum(widths) * regs.lanes * regs.size)))


class Lanes:
    """Emits parts of kernels; `own` have the rows along lanes, `others` the rows that these meet, in two tensors [rows,
    heads, dim], of which the first makes scores: `queries`, where these are along the lanes, or keys. `made` are the
    widths of results. `blocks` of lanes share a tile."""

    isa = "auto"
    """Whose registers have the lanes."""

    def __init__(
        self, op: Attention, queries: bool, own: Sequence[ir.Value], others: Sequence[ir.Value], made: Sequence[int],
        blocks: int,
    ) -> None:  # fmt: skip
        self.queries, self.visible = queries, op.visible if queries else op.visible.of_keys
        self.cap, self.scored, self.own, self.others, self.blocks = op.cap, op.scored, own, others, blocks
        element = op.q.type.element_type
        self.wide = wide(element)
        self.regs = RegisterBlock.of(self.wide, self.isa)
        base = 1.0 if self.scored is not None else 1 / math.log(2)
        self.factor = op.scale.value * (base if self.cap is None else 1 / self.cap)
        """What makes scores of products, in base 2 where these are the last, or what tanh takes."""
        self.tiles = [self.rows_of(TILE, width_of(x)) for x in others]
        self.buffers = {x: buffer_of(x, gaps=True) for x in (*own, *others)}
        self.staged = [] if self.scored is None or not queries else Staged.of(self.scored, self.regs, TILE)
        self.turned = self.rows_of(self.regs.lanes, max(made))
        self.factors = self.regs.scratch(1)

    def rows_of(self, count: int, width: int) -> ir.Value:
        """Scratch for rows that are not transposed: an odd number of cache lines for each, so that a column of them is
        in all sets of a cache."""
        line = CACHE_LINE // self.regs.size
        return self.regs.scratch(count, (build.ceildiv(width, line) | 1) * line)

    def pieces(self, width: int) -> list[tuple[int, int]]:
        """Where vectors of a row begin and how many elements each has: registers, and the rest in halves of them."""
        n = self.regs.square
        rest = [1 << k for k in reversed(range(n.bit_length() - 1)) if width & 1 << k]
        return [(d, n) for d in range(0, width - width % n, n)] + [(width - width % (2 * k), k) for k in rest]

    # Rows along lanes, and results ----------------------------------------------------------------------

    def columns(self, x: ir.Value) -> ir.Value:
        """Scratch for the rows of all blocks of a tensor, transposed."""
        return self.regs.scratch(self.blocks * width_of(x))

    def part(self, scratch: ir.Value, number: ir.Value) -> ir.Value:
        """What of scratch is for the block of a number."""
        rows, lanes = scratch.type.shape
        return subview(scratch, [build.mul(number, rows // self.blocks), 0], [rows // self.blocks, lanes])

    def each_part(
        self, block: Block, inits: Sequence[ir.Value],
        body: Callable[[ir.Value, Block, list[ir.Value]], Sequence[ir.Value] | None],
    ) -> list[ir.Value]:  # fmt: skip
        """The body, as in a loop, for the number of each block of lanes, and for it alone."""
        lanes = self.regs.lanes

        def one(number: ir.Value, carried: list[ir.Value]) -> Sequence[ir.Value] | None:
            first = build.mul(number, lanes)
            count = build.value(build.minimum(build.sub(block.count, first), lanes))
            place, row = (build.value(build.add(x, first)) for x in (block.first, block.row))
            return body(number, replace(block, first=place, row=row, count=count), carried)

        return flow.for_loop(build.ceildiv(block.count, lanes), inits, one)

    def clear(self, *scratch: ir.Value) -> None:
        """Zeros."""
        zero = self.regs.splat(0.0)
        for x in scratch:
            each(x.type.shape[0], lambda d, x=x: self.regs.store(zero, x, d))

    def load(self, x: ir.Value, into: ir.Value, block: Block, head: ir.Value, scale: float) -> None:
        """The rows of a block, scaled; lanes without one have numbers nobody reads."""
        self.clear(into)
        n, width, last = self.regs.square, width_of(x), build.sub(block.count, 1)
        factor = build.constant(self.wide, scale)
        spread = vector.broadcast(ir.VectorType.get([n], self.wide), factor)

        def square(r: ir.Value, d: ir.Value) -> None:
            rows = [build.add(build.minimum(build.add(r, k), last), block.row) for k in range(n)]
            found = [arith.mulf(read(x, [row, head, d], n, self.wide), spread) for row in rows]
            for k, column in enumerate(transposed(found)):
                vector.store(column, into, [build.add(d, k), r])

        def one(r: ir.Value, d: ir.Value) -> None:
            found = converted(tensor.extract(x, [build.add(r, block.row), head, d]), self.wide)
            memref.store(arith.mulf(found, factor), into, [d, r])

        whole = width - width % n
        each(block.count, lambda r: each(whole, lambda d: square(r, d), step=n), step=n)
        each(block.count, lambda r: each(width, lambda d: one(r, d), first=whole))

    def store(
        self, sums: ir.Value, into: ir.Value, low: Mixed, count: ir.Value, head: ir.Value, scale: ir.Value
    ) -> ir.Value:
        """The rows of a block, from a low one on, in a tensor of them, each of its lane's sums times a row of
        factors."""
        width, n = width_of(into), self.regs.square
        self.regs.store(scale, self.factors, 0)
        whole, none = width - width % n, Emitter().constant(ir.VectorType.get([n], self.wide), 0.0)

        def square(r: ir.Value, d: ir.Value, columns: int) -> None:
            at = [[build.value(build.add(d, k)), r] for k in range(columns)]
            factor = vector.load(none.type, self.factors, [build.value(0), r])
            found = [arith.mulf(vector.load(none.type, sums, x), factor) for x in at]
            for k, x in enumerate(transposed([*found, *[none] * (n - columns)])):
                vector.store(x, self.turned, [build.value(build.add(r, k)), d])

        def squares(r: ir.Value) -> None:
            each(whole, lambda d: square(r, d, n), step=n)
            if whole < width:
                square(r, build.value(whole), width - whole)

        def row(r: ir.Value, made: list[ir.Value]) -> list[ir.Value]:
            for first, lanes in self.pieces(width):
                found = vector.load(ir.VectorType.get([lanes], self.wide), self.turned, [r, build.value(first)])
                made = [write(found, made[0], [build.value(build.add(r, low)), head, build.value(first)])]
            return made

        each(count, squares, step=n)
        return flow.for_loop(count, [into], row)[0]

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

    def run_tiles(self, block: Block, own_head: ir.Value, head: ir.Value, body: Callable[[Meeting], None]) -> None:
        """The body for tiles of rows of a head, which have been copied, and blocks of lanes, of their own one, that
        meet some of them."""
        bounds = self.bounds(block)
        blocks, near = build.ceildiv(block.count, self.regs.lanes), self._are_near(block)
        lanes = [_ahead(x, block.row, block.count, own_head, near) for x in self.own]

        def tile(first: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            count = build.minimum(build.sub(bounds.high, first), TILE)
            following = build.add(first, TILE)
            more = build.less(following, bounds.high)
            in_order = arith.andi(near, block.is_last)
            ahead = [
                _ahead(x, start, block.others, head, in_order, first, more)
                for x, start in zip(self.others, block.starts, strict=True)
            ]
            self.copy_tile(block, first, head, count)

            def part(number: ir.Value, own: Block, _: list[ir.Value]) -> list[ir.Value]:
                met = self.bounds(own)
                low = build.maximum(build.sub(met.low, first), 0)
                low = build.mul(build.divide(low, self.regs.rows), self.regs.rows)
                high = build.minimum(build.sub(met.high, first), count)
                some, is_last = build.less(low, high), build.at_least(following, bounds.high)
                meeting = Meeting(ahead, lanes, blocks, is_last, head, own_head, number, own, met, first, low, high)
                return flow.choose(some, lambda: body(meeting), list, [])

            return self.each_part(block, [], part)

        flow.strided(bounds.low, TILE, bounds.high, [], tile)

    def copy_tile(self, block: Block, first: Mixed, head: ir.Value, count: Mixed) -> None:
        """So many of the component's other rows from a first one on, of both tensors."""
        for x, start, into in zip(self.others, block.starts, self.tiles, strict=True):
            self.copy(x, build.add(first, start), head, count, into)

    def copy(self, x: ir.Value, start: Mixed, head: ir.Value, count: Mixed, into: ir.Value) -> None:
        """The rows of a tile, in vectors, the last ones shorter, and in numbers of the type that is wanted. So many as
        are multiplied at once: the last one again, what nobody wrote may be numbers that take long."""

        def row(j: ir.Value) -> None:
            at = build.value(build.add(build.minimum(j, build.sub(count, 1)), start))
            for first, lanes in self.pieces(width_of(x)):
                d = build.value(first)
                vector.store(read(x, [at, head, d], lanes, into.type.element_type), into, [j, d])

        each(build.mul(build.ceildiv(count, self.regs.rows), self.regs.rows), row)

    def _are_near(self, block: Block) -> ir.Value:
        """Whether what a component meets, for all heads, and as much of the next one have room in the second cache."""
        size = self.others[0].type.element_type.width // 8
        bytes_ = [build.mul(shapes.dim(x, 1), width_of(x) * size) for x in self.others]
        return build.at_most(build.mul(build.add(*bytes_), block.others), KEPT // 2)

    def _prefetch(self, ahead: Ahead, meeting: Meeting, place: Mixed, count: int, pieces: int) -> None:
        """Ask for some of so many pieces: a block's share of those for `count` places of a tile from one on. Called
        between products, for a few lines each time: where more are on their way than a first cache waits for (10 to
        16), what follows waits as well."""
        first = build.divide(build.mul(place, pieces), TILE)

        def piece(k: ir.Value, _: list[ir.Value]) -> None:
            begin = build.mul(build.add(first, k), ahead.apart)
            for d in range(0, width_of(ahead.x), 8 * CACHE_LINE // ahead.x.type.element_type.width):
                at = [ahead.row, ahead.head, build.value(build.add(begin, d))]
                memref.prefetch(self.buffers[ahead.x], at, False, 2, True)

        flow.strided(meeting.number, meeting.blocks, build.ceildiv(count * pieces, TILE), [], piece)

    def products(self, number: int, columns: ir.Value, meeting: Meeting, places: Sequence[ir.Value]) -> list[ir.Value]:
        """The products of lanes with the rows at some places of a tile of one of the tensors; where there is none, of
        anything."""
        tile = self.tiles[number]
        self._prefetch(meeting.ahead[number], meeting, places[0], len(places), TILE)
        if number == 0:
            with flow.when(meeting.is_last):
                for x in meeting.own:
                    self._prefetch(x, meeting, places[0], len(places), self.blocks * self.regs.lanes)
        return self.regs.product(
            width_of(self.others[number]),
            [self.regs.splat(0.0)] * len(places),
            lambda d: [memref.load(tile, [place, d]) for place in places],
            lambda d: self.regs.load(columns, d).value,
        )

    def scores(
        self, columns: ir.Value, meeting: Meeting, into: ir.Value, slopes: ir.Value | None = None
    ) -> Callable[[Sequence[ir.Value]], list[ir.Value]]:
        """What gives the scores of lanes and rows at some places of a tile in base 2. A score of its own is made for
        all of the tile before, in scratch, element by element: `vectorize-ragged-loops` makes vectors of that. What
        scores grow by with products is kept in `slopes`, if wanted and not 1."""
        if self.scored is None:
            return lambda places: self.capped(self.products(0, columns, meeting, places), places, slopes)
        n = self.regs.rows

        def products(place: ir.Value) -> None:
            places = [build.value(build.add(place, k)) for k in range(n)]
            for at, x in zip(places, self.products(0, columns, meeting, places), strict=True):
                self.regs.store(x, into, at)

        flow.strided(meeting.low, n, meeting.high, [], lambda place, _: products(place))
        return self.scores_of(meeting, into, slopes)

    def scores_of(
        self, meeting: Meeting, into: ir.Value, slopes: ir.Value | None = None
    ) -> Callable[[Sequence[ir.Value]], list[ir.Value]]:
        """Makes scores of their own of the products of a tile in scratch; what gives them as `scores` does."""
        own = meeting.block
        if self.staged:
            self._stage(meeting)

        def score(place: ir.Value, lane: ir.Value) -> None:
            at, known = [place, lane], dict[ir.Value, ir.Value]()
            for x in self.staged:
                known |= x.known(at)
            self.rescored(at, self._numbers_at(meeting, lane, place), into, slopes, known)

        each(meeting.high, lambda place: each(own.count, lambda lane: score(place, lane)), first=meeting.low)
        return lambda places: [self.regs.load(into, place).value for place in places]

    def _numbers_at(self, meeting: Meeting, lane: Mixed, place: Mixed) -> list[ir.Value]:
        """Component, head, query and key of a score."""
        numbers = [build.add(meeting.block.first, lane), build.add(meeting.first, place)]
        query, key = map(build.value, numbers if self.queries else numbers[::-1])
        return [meeting.block.component, meeting.own_head if self.queries else meeting.head, query, key]

    def _stage(self, meeting: Meeting) -> None:
        """Copy what scores of a tile are made with."""
        n, last = self.regs.square, build.sub(meeting.block.count, 1)
        low = build.mul(build.divide(meeting.low, n), n)

        def square(row: ir.Value, place: ir.Value) -> None:
            def numbers(lane: Mixed, at: Mixed) -> list[ir.Value]:
                score = build.constant(self.wide, 0.0)  # which no index is made of
                return [score, *self._numbers_at(meeting, build.minimum(lane, last), at)]

            for x in self.staged:
                x.fill(self.regs, numbers, row, place)

        def squares(row: ir.Value) -> None:
            flow.strided(low, n, meeting.high, [], lambda place, _: square(row, place))

        each(meeting.block.count, squares, step=n)

    def rescored(
        self, at: Sequence[ir.Value], numbers: Sequence[ir.Value], into: ir.Value, slopes: ir.Value | None = None,
        known: ValueMap | None = None,
    ) -> None:  # fmt: skip
        """Replace a score in scratch by what is made of it and of numbers, in base 2; some values may be known."""
        assert self.scored is not None
        made, *rest = inlined(self.scored, [memref.load(into, at), *numbers], known)
        memref.store(arith.mulf(made, build.constant(self.wide, 1 / math.log(2))), into, at)
        if slopes is not None:
            memref.store(rest[0], slopes, at)

    def capped(
        self, products: Sequence[ir.Value], places: Sequence[ir.Value] = (), slopes: ir.Value | None = None
    ) -> list[ir.Value]:
        """Scores in base 2 of products at some places, by a softcap if there is one."""
        if self.cap is None:
            return list(products)
        emitter = Emitter()
        parts = [tanh(emitter.number(x)) for x in products]
        if slopes is not None:
            for place, x in zip(places, parts, strict=True):
                self.regs.store(1.0 - x * x, slopes, place)
        return [(x * (self.cap / math.log(2))).value for x in parts]

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
        self, number: int, sums: ir.Value, weights: ir.Value, meeting: Meeting, shrink: Number | None = None
    ) -> None:
        """The rows of one of the tensors at some places of a tile times their weights, on sums, which become less
        before."""
        tile, width, low = self.tiles[number], width_of(self.others[number]), meeting.low

        def before(d: ir.Value) -> ir.Value:
            found = self.regs.load(sums, d)
            return found.value if shrink is None else (found * Number(Emitter(), shrink.value)).value

        def columns(place: ir.Value, many: int) -> None:
            at = [build.value(build.add(place, k)) for k in range(many)]
            if shrink is not None:
                rows = build.ceildiv(TILE * many, width)
                self._prefetch(meeting.ahead[number], meeting, build.divide(build.mul(place, TILE), width), rows, TILE)
            made = self.regs.product(
                build.sub(meeting.high, low),
                list(map(before, at)),
                lambda j: [memref.load(tile, [build.value(build.add(j, low)), d]) for d in at],
                lambda j: self.regs.load(weights, build.add(j, low)).value,
            )
            for d, x in zip(at, made, strict=True):
                self.regs.store(x, sums, d)

        n, rest = self.regs.rows, width % self.regs.rows
        each(width - rest, lambda d: columns(d, n), step=n)
        if rest:
            columns(build.value(width - rest), rest)


def each(count: Mixed, body: Callable[[ir.Value], object], first: Mixed = 0, step: int = 1) -> None:
    """The body for first, first + step, … below a count; nothing where it is known that there are none."""

    def once(i: ir.Value, _: list[ir.Value]) -> None:
        body(i)

    if not (isinstance(count, int) and isinstance(first, int) and count <= first):
        flow.strided(first, step, count, [], once)


def _ahead(
    x: ir.Value, start: Mixed, count: Mixed, head: ir.Value, in_order: ir.Value, first: Mixed = 0,
    more: ir.Value | None = None,
) -> Ahead:  # fmt: skip
    """What is asked for while a tile from a first one on, of so many rows of a component, is met in a head: the next
    tile if there are more, or what the next head has, after the last one what is behind. Or what is behind from the
    first head on, in the order of memory, which processors read several times as fast as pieces that are apart: where
    the component's own rows are near, and as much is behind."""
    heads, width, behind = shapes.dim(x, 1), width_of(x), build.value(build.add(start, count))
    other = build.less(build.add(head, 1), heads)
    row = arith.select(other, build.value(start), behind)
    place = arith.select(other, build.value(build.add(head, 1)), build.value(0))
    if more is not None:
        row = arith.select(more, build.value(build.add(build.add(start, first), TILE)), row)
        place = arith.select(more, head, place)
    in_order = arith.andi(in_order, build.at_most(build.add(behind, count), shapes.dim(x, 0)))
    then = build.value(build.add(build.mul(head, count), first))
    apart = arith.select(in_order, build.value(width), build.value(build.mul(heads, width)))
    return Ahead(x, arith.select(in_order, behind, row), arith.select(in_order, then, place), apart)


def width_of(x: ir.Value) -> int:
    """Elements of a row of a head."""
    return int(x.type.shape[2])


def _clamped(x: ir.Value, low: Mixed, high: Mixed) -> ir.Value:
    return build.minimum(build.maximum(x, low), high)
