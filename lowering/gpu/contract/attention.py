"""Attention on tensor cores: a block has a tile of the queries of one head, and goes along the keys that they see.

Each warp has 16 queries, or twice as many where registers suffice: what is loaded of keys and values is multiplied with
both halves then. It keeps them in registers, with what they have of the result so far, and the maximum and the sum of
the exponentials of each (online softmax). Tiles of keys and values are copied to shared memory while the
last ones are multiplied. The exponentials of a thread are where `mma.sync` wants the left operand of the product with
the values (PTX ISA manual, 9.7.14.5.8), so they stay in registers, rounded to the type of the values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ragged_dialect._mlir import arith, ir
from ragged_dialect._mlir import math as math_ops
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import bit_width
from ragged_dialect.lowering.attention.call import AttentionCall
from ragged_dialect.lowering.attributes import WIDE
from ragged_dialect.lowering.buffers import extent
from ragged_dialect.lowering.forall_bounds import counts_of
from ragged_dialect.lowering.gpu.contract import fragments, splitting
from ragged_dialect.lowering.gpu.contract.shared import Chunk, Tile, halves_of, loaded
from ragged_dialect.lowering.gpu.contract.staging import in_stages
from ragged_dialect.lowering.gpu.contract.tiles import Tiles, at_most
from ragged_dialect.lowering.gpu.kernel import builder
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.shuffle import shuffle_xor
from ragged_dialect.lowering.gpu.kernel.thread_loops import guarded
from ragged_dialect.lowering.gpu.segmented.component_code import BodyCode, captured
from ragged_dialect.lowering.gpu.segmented.component_rows import Iterations

Parts = Sequence[Sequence[ir.Value]]
"""The registers of a fragment, for each part of its numbers."""

Rows = list[ir.Value]
"""A value for each of the two rows of a fragment that a thread has elements of."""

LANES = 4
"""Lanes that have a row of a fragment together: two neighbours of every eight elements each."""

STAGES = 2
"""Tiles of keys and values in shared memory at once: they are large, and a step between loads is long."""

ROWS = (0, fragments.SIDE)
"""The rows of a thread in a fragment, from its first one on."""


@dataclass(frozen=True)
class AttentionLoop(Iterations):
    """A forall that does nothing but a call of attention for each component."""

    call: AttentionCall


def matched(forall: ir.Operation) -> AttentionLoop | None:
    """The call in a forall, None where there is none."""
    calls = [AttentionCall.of(op.operation) for op in forall.regions[0].blocks[0].operations]
    return next((AttentionLoop(forall, call) for call in calls if call is not None), None)


def element_at(buffer: ir.Value, row: Mixed, head: Mixed, column: Mixed) -> ir.Value:
    """The pointer of an element of [rows, heads, columns]."""
    row_of_heads = build.add(build.mul(row, extent(buffer, 1)), head)
    return fragments.global_pointer(buffer, build.add(build.mul(row_of_heads, buffer.type.shape[2]), column))


def chunk_at(buffer: ir.Value, first: ir.Value, end: ir.Value, head: Mixed, row: ir.Value, column: ir.Value) -> Chunk:
    """What is so far below row `first`, which there is: nothing from row `end` on."""
    at = build.add(first, row)
    inside = build.less(at, end)
    known = arith.select(inside, at, first)

    def pointer(number: int) -> ir.Value:
        return element_at(buffer, known, head, build.add(column, number))

    return Chunk(pointer, inside)


@dataclass(frozen=True)
class Place:
    """The tile of a block: its first query counted in its component, how many the component has, and the rows before
    that in memory; the keys that the component has, and `shift`, which is added to a query's number before it is
    compared with those of keys."""

    row: ir.Value
    count: ir.Value
    before: ir.Value
    keys: ir.Value
    shift: Mixed


def blocks_of(call: AttentionCall) -> int:
    """How many blocks of 16 queries a warp has: two, where a thread has registers for them."""
    q, _, v, *_ = call.buffers
    most = DEVICE.attention_doubled // (2 if splitting.is_split(q.type.element_type) else 1)
    return 2 if max(q.type.shape[2], v.type.shape[2]) <= most else 1


def threads_of(call: AttentionCall) -> int:
    """Threads of a block."""
    return DEVICE.attention_queries // (blocks_of(call) * fragments.M) * DEVICE.warp


class AttentionKernel:
    """The kernel of one call."""

    def __init__(self, found: AttentionLoop, kernel: Kernel) -> None:
        self.found, self.call, self.kernel = found, found.call, kernel
        q, _, v, *_ = self.call.buffers
        self.element: ir.Type = q.type.element_type
        self.depth, self.width = q.type.shape[2], v.type.shape[2]
        self.blocks = blocks_of(self.call)
        self.queries = kernel.threads // DEVICE.warp * self.blocks * fragments.M
        scaled = self.call.softcap is None and self.call.scale > 0
        self.factor = (self.call.scale if scaled else 1.0) * math.log2(math.e)
        self.step = next(keys for keys in (64, 32, 16) if keys == 16 or self._has_room(keys))
        """Keys of a tile: as many as there is room for. With more than 64, a thread has too many scores."""

    def _has_room(self, keys: int) -> bool:
        """Whether shared memory and registers suffice for tiles of so many keys."""
        size = STAGES * sum(Tile.bytes_of(keys, width, self.element) for width in (self.depth, self.width))
        is_capped = self.call.softcap is not None and self.blocks > 1
        capped = DEVICE.attention_capped if is_capped else keys * self.depth
        most = DEVICE.attention_split if splitting.is_split(self.element) else capped
        return size <= DEVICE.shared_bytes and keys * self.depth <= most

    def lower(self) -> None:
        """Emit kernel and launch before the forall."""
        found, call, kernel = self.found, self.call, self.kernel
        kernel.open()
        kernel.keep_resident(DEVICE.resident_least)
        kernel.op.attributes[WIDE] = ir.UnitAttr.get()  # addresses are computed as indices
        q, *_ = call.buffers
        with ir.InsertionPoint(found.forall):
            heads, (count,) = extent(q, 1), counts_of(found.forall)
            grid = build.mul(at_most(extent(q, 0), count, self.queries), heads)
        with ir.InsertionPoint(kernel.end):
            used = captured(found, [], list(call.op.operands))
            code = BodyCode(found, {x: kernel.value(x, found.forall) for x in used})
            heads, count = (x if isinstance(x, int) else kernel.scalar(x) for x in (heads, count))
            self.inside = [code.value(x, {}) for x in call.buffers]
            self.tiles = [Tile(kernel, STAGES, self.step, x.type.shape[2], self.element) for x in self.inside[1:3]]
            self.thread = builder.hardware_id("gpu.thread_id")
            self.lane = arith.remui(self.thread, build.value(DEVICE.warp))
            block = builder.hardware_id("gpu.block_id")
            tile, head = build.value(build.divide(block, heads)), arith.remui(block, build.value(heads))
            tiles = Tiles(code, call.low, call.high, self.queries)
            tiles.find(tile, count, self.lane, partial(self._tile, code, head))
        kernel.close(grid, found.forall)

    def _tile(self, code: BodyCode, head: ir.Value, component: ir.Value, row: ir.Value, count: ir.Value) -> None:
        """The tile of a component from a row on, of one head."""
        call, known = self.call, code.at(component)
        keys, before, *firsts = (code.value(x, known) for x in (call.length, call.low, *call.firsts))
        place = Place(row, count, before, keys, build.sub(keys, count) if call.keys.end else 0)
        queries = [self._queries(place, head, block) for block in range(self.blocks)]
        q, k, *_ = self.inside
        key_head = build.divide(head, build.divide(extent(q, 1), extent(k, 1)))
        low, high = self._seen(place, row, build.minimum(build.add(row, self.queries), count))

        def key(number: ir.Value) -> ir.Value:
            return build.add(low, build.mul(number, self.step))

        def copy(stage: ir.Value, number: ir.Value) -> None:
            for tile, x, first in zip(self.tiles, self.inside[1:3], firsts, strict=True):
                rows = build.add(first, key(number)), build.add(first, keys)
                tile.copy(stage, self.thread, partial(chunk_at, x, *rows, key_head))

        def step(stage: ir.Value, number: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
            return self._step(place, stage, key(number), queries, self._by_block(state))

        start = [-math.inf] * 2 + [0.0] * (2 + self.width // fragments.N * 4)
        inits = [self._number(x) for x in start * self.blocks]
        steps = build.ceildiv(build.maximum(build.sub(high, low), 0), self.step)
        for block, state in enumerate(self._by_block(in_stages(STAGES, steps, inits, copy, step))):
            self._store(place, head, block, state)

    @staticmethod
    def _number(x: float) -> ir.Value:
        return build.constant(ir.F32Type.get(), x)

    def _by_block(self, state: list[ir.Value]) -> list[list[ir.Value]]:
        """What is known of each block of 16 queries."""
        size = len(state) // self.blocks
        return [state[k : k + size] for k in range(0, len(state), size)]

    def _first(self, block: int) -> ir.Value:
        """The first row of a thread in the tile, of a block of its warp."""
        warp = arith.divui(self.thread, build.value(DEVICE.warp))
        lane = arith.divui(self.lane, build.value(LANES))
        return arith.addi(build.add(build.mul(warp, self.blocks * fragments.M), block * fragments.M), lane)

    def _right(self) -> ir.Value:
        """The first column of a thread in every eight."""
        return arith.muli(arith.remui(self.lane, build.value(LANES)), build.value(2))

    def _queries(self, place: Place, head: ir.Value, block: int) -> list[Parts]:
        """The fragments of the queries of a block; instead of those beyond the component's last one that is taken."""
        last, found = build.sub(place.count, 1), list[Parts]()
        rows = [build.minimum(build.add(build.add(place.row, self._first(block)), below), last) for below in ROWS]
        for column in range(0, self.depth, fragments.K):
            at = build.add(self._right(), column)
            corners = [(row, build.add(at, right)) for right in ROWS for row in rows]
            pairs = [self._pair(build.add(place.before, r), head, c) for r, c in corners]
            found.append([list(part) for part in zip(*pairs, strict=True)])
        return found

    def _pair(self, row: Mixed, head: ir.Value, column: ir.Value) -> list[ir.Value]:
        """Two neighbours of a query, as a register of a fragment for each part."""
        pointer = element_at(self.inside[0], row, head, column)
        if splitting.is_split(self.element):
            return splitting.registers(loaded(pointer, self.element, 2), self.element)
        return [fragments.load_whole(pointer, fragments.register(self.element), 2 * fragments.ELEMENT)]

    # Which keys are seen ------------------------------------------------------------------------------

    def _seen(self, place: Place, first: ir.Value, end: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The first key that one of some queries sees, and the one after the last: none where these cross."""
        keys, low, high = self.call.keys, build.value(0), place.keys
        if keys.left is not None:
            low = build.maximum(build.sub(build.add(first, place.shift), keys.left), low)
        if keys.right is not None:
            high = build.minimum(build.add(build.add(end, place.shift), keys.right), high)
        return low, high

    def _masked(self, place: Place, key: ir.Value, scores: list[ir.Value]) -> list[ir.Value]:
        """Scores of keys from `key` on, of all blocks, -inf where a query does not see one. Most tiles are seen as a
        whole."""
        keys = self.call.keys
        right = build.add(key, self._right())
        last = build.add(place.row, self.queries)
        whole = build.at_most(build.add(key, self.step), self._seen(place, last, build.add(place.row, 1))[1])
        if keys.left is not None:
            whole = arith.andi(whole, build.at_least(key, self._seen(place, build.sub(last, 1), last)[0]))

        def masked() -> list[ir.Value]:
            found: list[ir.Value] = []
            for block, own in enumerate(self._by_block(scores)):
                first = build.add(place.row, self._first(block))
                ends = [self._ends(place, build.add(first, below), right) for below in ROWS]
                found += [self._visible(x, k, *ends[k // 2 % 2]) for k, x in enumerate(own)]
            return found

        return flow.choose(whole, lambda: scores, masked, [x.type for x in scores])

    def _ends(self, place: Place, row: ir.Value, right: ir.Value) -> list[ir.Value]:
        """The first key that a query sees and the one after the last, counted from `right` on, in 32 bits."""
        kind, seen = ir.IntegerType.get_signless(32), self._seen(place, row, build.add(row, 1))
        near = (build.maximum(build.minimum(arith.subi(x, right), self.step), -1) for x in seen)
        return [arith.index_cast(kind, x) for x in near]

    def _visible(self, score: ir.Value, number: int, low: ir.Value, high: ir.Value) -> ir.Value:
        """A thread's score of that number, -inf where its key is not in between."""
        key = arith.constant(low.type, number // 4 * fragments.N + number % 2)
        seen = arith.cmpi(arith.CmpIPredicate.slt, key, high)
        if self.call.keys.left is not None:
            seen = arith.andi(seen, arith.cmpi(arith.CmpIPredicate.sge, key, low))
        return arith.select(seen, score, self._number(-math.inf))

    # A tile of keys -----------------------------------------------------------------------------------

    def _step(
        self, place: Place, stage: ir.Value, key: ir.Value, queries: list[list[Parts]], states: list[list[ir.Value]]
    ) -> list[ir.Value]:
        """Maxima, sums and results of all blocks after a tile of keys from `key` on."""
        scores = self._masked(place, key, self._scores(stage, queries))
        after = [self._weighed(*both) for both in zip(self._by_block(scores), states, strict=True)]
        sums = self._added(stage, [weights for _, weights, _ in after], [sums for *_, sums in after])
        return [x for (known, *_), own in zip(after, sums, strict=True) for x in (*known, *own)]

    def _weighed(
        self, scores: list[ir.Value], state: list[ir.Value]
    ) -> tuple[list[ir.Value], list[Rows], list[ir.Value]]:
        """For a block: maxima and sums after a tile, the weights of its values, and the results as they are to be
        added to."""
        tops, totals, sums = state[:2], state[2:4], state[4:]
        rows = [[x for k, x in enumerate(scores) if k // 2 % 2 == half] for half in (0, 1)]
        tops_after = [self._highest(top, row) for top, row in zip(tops, rows, strict=True)]
        bases = [arith.mulf(self._base(top), self._number(self.factor)) for top in tops_after]
        weights = [[self._power(x, base) for x in row] for row, base in zip(rows, bases, strict=True)]
        shrink = [self._power(top, base) for top, base in zip(tops, bases, strict=True)]
        totals = [arith.mulf(total, by) for total, by in zip(totals, shrink, strict=True)]
        totals = [self._sum(total, row) for total, row in zip(totals, weights, strict=True)]
        sums = [arith.mulf(x, shrink[k // 2 % 2]) for k, x in enumerate(sums)]
        return [*tops_after, *totals], weights, sums

    def _scores(self, stage: ir.Value, queries: list[list[Parts]]) -> list[ir.Value]:
        """The scores of a thread, block by block, of fragments from left to right: `factor` times them are exponents
        of 2."""
        call, tile = self.call, self.tiles[0]
        row, along, inner = fragments.place_of(self.lane, pairs=True)
        corner = tile.place(stage, build.add(row, along), build.value(inner))
        blocks: list[list[ir.Value]] = [[] for _ in queries]
        for down in range(0, self.step, 2 * fragments.N):
            halves = [[[self._number(0.0)] * 4 for _ in range(2)] for _ in queries]
            for k in range(len(queries[0])):
                keys = halves_of(tile.fragments(corner, down, k * fragments.K, transposed=False))
                for block, query in enumerate(queries):
                    pairs = zip(keys, halves[block], strict=True)
                    halves[block] = [splitting.multiply(query[k], key, half, self.element) for key, half in pairs]
            for own, pair in zip(blocks, halves, strict=True):
                own += [x for half in pair for x in half]
        found = [x for own in blocks for x in own]
        if call.softcap is None:
            return found if call.scale > 0 else [arith.mulf(x, self._number(call.scale)) for x in found]
        tanhs = [math_ops.tanh(arith.mulf(x, self._number(call.scale / call.softcap))) for x in found]
        return [arith.mulf(x, self._number(call.softcap)) for x in tanhs]

    def _highest(self, top: ir.Value, scores: list[ir.Value]) -> ir.Value:
        """The highest score of a row, of the lanes that have it together. A NaN is passed over: it comes back with its
        own difference."""
        for x in scores:
            top = arith.maxnumf(top, x)
        for distance in (1, 2):
            top = arith.maxnumf(top, shuffle_xor(top, distance))
        return top

    def _power(self, score: ir.Value, base: ir.Value) -> ir.Value:
        """2 to the power of a score less what the row's highest one is: what is no normal number is 0."""
        power = math_ops.fma(score, self._number(self.factor), arith.negf(base))
        return fragments.call_intrinsic("llvm.nvvm.ex2.approx.ftz.f32", power)

    def _base(self, top: ir.Value) -> ir.Value:
        """What is subtracted from the scores of a row: nothing where no key was seen."""
        none = arith.cmpf(arith.CmpFPredicate.OEQ, top, self._number(-math.inf))
        return arith.select(none, self._number(0.0), top)

    @staticmethod
    def _sum(total: ir.Value, row: list[ir.Value]) -> ir.Value:
        for x in row:
            total = arith.addf(total, x)
        return total

    def _added(self, stage: ir.Value, weights: list[list[Rows]], sums: list[list[ir.Value]]) -> list[list[ir.Value]]:
        """The results of each block with the values of a tile times their weights."""
        tile, sums = self.tiles[1], [list(own) for own in sums]
        row, along, inner = fragments.place_of(self.lane, pairs=True)
        corner = tile.place(stage, build.add(row, inner), build.value(along))
        for down in range(0, self.step, fragments.K):
            lefts = [self._left(own, down) for own in weights]
            for right in range(0, self.width, 2 * fragments.N):
                for n, values in enumerate(halves_of(tile.fragments(corner, down, right, transposed=True))):
                    at = 4 * (right // fragments.N + n)
                    for left, own in zip(lefts, sums, strict=True):
                        own[at : at + 4] = splitting.multiply(left, values, own[at : at + 4], self.element)
        return sums

    def _left(self, weights: list[Rows], down: int) -> Parts:
        """The weights of sixteen values, as a left operand."""
        pairs = [(down + 8 * right) // 4 for right in range(2)]  # of each row: two of every eight
        corners = [weights[half][at : at + 2] for at in pairs for half in (0, 1)]
        return list(zip(*(splitting.registers(pair, self.element) for pair in corners), strict=True))

    # Results --------------------------------------------------------------------------------------------

    def _store(self, place: Place, head: ir.Value, block: int, state: list[ir.Value]) -> None:
        """Store what a thread has of a block."""
        tops, totals, sums = state[:2], state[2:4], state[4:]
        for distance in (1, 2):
            totals = [arith.addf(total, shuffle_xor(total, distance)) for total in totals]
        for half, (below, top, total) in enumerate(zip(ROWS, tops, totals, strict=True)):
            at = build.add(build.add(place.row, self._first(block)), below)
            row = build.add(place.before, at)
            seen = arith.cmpf(arith.CmpFPredicate.UNE, total, self._number(0.0))  # a NaN stays one
            factor = arith.select(seen, arith.divf(self._number(1.0), total), self._number(0.0))
            guarded([build.less(at, place.count)], partial(self._store_row, row, head, factor, sums[2 * half :]))
            if self.call.lse is not None:
                base = arith.mulf(top, self._number(self.factor))
                lse = arith.addf(arith.mulf(base, self._number(math.log(2))), math_ops.log(total))
                once = build.equal(arith.remui(self.lane, build.value(LANES)), 0)
                guarded([build.less(at, place.count), once], partial(self._store_lse, lse, row, head))

    def _store_row(self, row: ir.Value, head: ir.Value, factor: ir.Value, sums: list[ir.Value]) -> None:
        size = bit_width(self.element) // 8
        for k in range(0, self.width // fragments.N):
            numbers = [arith.mulf(x, factor) for x in sums[4 * k : 4 * k + 2]]
            is_split = splitting.is_split(self.element)
            pair = fragments.vector_of(numbers) if is_split else fragments.pack(numbers, self.element)
            pointer = element_at(self.inside[3], row, head, build.add(self._right(), k * fragments.N))
            fragments.store_whole(pair, pointer, 2 * size)

    def _store_lse(self, lse: ir.Value, row: ir.Value, head: ir.Value) -> None:
        ir.Operation.create("memref.store", operands=[lse, self.inside[4], row, head])
