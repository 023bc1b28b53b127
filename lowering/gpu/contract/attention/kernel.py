"""What the kernels of attention share: a block has a tile of the rows of one head, its own, and goes along the rows
that these meet.

The own ones are queries that meet keys, or, for the cotangents of these, keys that meet queries. Each warp has 16 of
them, or twice as many where registers suffice: what is loaded of the others is multiplied with both halves then. It
keeps them in registers, with what they have of the results so far. Tiles of the others are copied to shared memory
while the last ones are multiplied. What a thread makes of scores is where `mma.sync` wants the left operand of the
next product (PTX ISA manual, 9.7.14.5.8), so it stays in registers, rounded to the type of the operands.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ragged_dialect._mlir import arith, ir, llvm
from ragged_dialect._mlir import math as math_ops
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import inlined
from ragged_dialect.ir.match import byte_size
from ragged_dialect.lowering.attention.call import AttentionCall
from ragged_dialect.lowering.attributes import WIDE
from ragged_dialect.lowering.buffers.subviews import extent
from ragged_dialect.lowering.gpu.contract import fragments, splitting
from ragged_dialect.lowering.gpu.contract.attention.constants import LANES, ROWS, STAGES, number
from ragged_dialect.lowering.gpu.contract.attention.visible import Visible
from ragged_dialect.lowering.gpu.contract.shared import Chunk, Tile, halves_of, loaded
from ragged_dialect.lowering.gpu.contract.staging import in_stages
from ragged_dialect.lowering.gpu.contract.tiles import Tiles, at_most
from ragged_dialect.lowering.gpu.kernel import builder
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.thread_loops import guarded
from ragged_dialect.lowering.gpu.segmented.component_code import BodyCode, captured
from ragged_dialect.lowering.gpu.segmented.component_rows import Iterations
from ragged_dialect.lowering.nests.forall_bounds import counts_of

_NORMAL = 2.0**-126
"""The smallest normal number of f32."""

Parts = Sequence[Sequence[ir.Value]]
"""The registers of a fragment, for each part of its numbers."""


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
    """The tile of a block: its component and head, its first row counted in the component, how many that has, the rows
    before that in memory, and what they see."""

    component: ir.Value
    head: ir.Value
    row: ir.Value
    count: ir.Value
    before: ir.Value
    visible: Visible


@dataclass(frozen=True)
class Meeting:
    """A tile of other rows: its stage, their head, and the first one, counted in the component."""

    stage: ir.Value
    head: Mixed
    row: ir.Value


Step = Callable[[Meeting, list[ir.Value]], list[ir.Value]]
"""What is carried on after a tile of others."""


def kept(call: AttentionCall, results: Sequence[int]) -> int:
    """The registers that a thread has for 16 own rows, and for what becomes of them, while it goes along the others."""
    own, sums = (sum(n for x in buffers for n in x.type.shape[2:]) for buffers in (call.own, written(call, results)))
    # Of 16 rows of a column each of 32 lanes has half a number: a quarter of a register of two, or half a sum.
    return own * splitting.count_of(call.own[0].type.element_type) // 4 + sums // 2


def written(call: AttentionCall, results: Sequence[int]) -> list[ir.Value]:
    """The buffers of some results."""
    return [x for result, x in zip(call.results, call.written, strict=True) if result in results]


def blocks_of(call: AttentionCall, results: Sequence[int]) -> int:
    """How many blocks of 16 own rows a warp has: two, where a thread has registers for them."""
    most = DEVICE.attention_kept if call.scored is None else DEVICE.attention_scored
    return 2 if 2 * kept(call, results) <= most else 1


def threads_of(call: AttentionCall, results: Sequence[int]) -> int:
    """Threads of a block."""
    return DEVICE.attention_queries // (blocks_of(call, results) * fragments.M) * DEVICE.warp


class AttentionKernel(ABC):
    """The kernel of some results of a call, all of the same rows."""

    def __init__(self, found: AttentionLoop, kernel: Kernel, results: Sequence[int]) -> None:
        self.found, self.call, self.kernel, self.results = found, found.call, kernel, results
        self.element: ir.Type = self.call.own[0].type.element_type
        self.blocks = blocks_of(self.call, results)
        self.tile_rows = kernel.threads // DEVICE.warp * self.blocks * fragments.M
        self.dims = [x.type.shape[2] for x in self.call.others]
        # Of no softcap: products are scaled as exponents are, where that is no rounding to 0.
        self.changed = self.call.softcap is not None or self.call.scored is not None
        self.plain = not self.changed and self.call.scale >= _NORMAL
        self.factor = (self.call.scale if self.plain else 1.0) * math.log2(math.e)
        self.step = next(rows for rows in (64, 32, 16) if rows == 16 or self._has_room(rows))
        """Others of a tile: as many as there is room for. With more than 64, a thread has too many scores."""

    @abstractmethod
    def fits(self, rows: int) -> bool:
        """Whether a thread has registers for tiles of so many of the others."""

    def open(self) -> None:
        """Take what else is needed of shared memory."""

    @abstractmethod
    def on_tile(self, place: Place, own: list[list[list[Parts]]]) -> None:
        """Work on the tile of a block, given the fragments of its rows in each buffer, block by block."""

    def copy_saved(self, place: Place, meeting: Meeting) -> None:
        """Start to copy what is known of the others."""

    def _has_room(self, rows: int) -> bool:
        """Whether shared memory and registers suffice for tiles of so many of the others."""
        size = STAGES * sum(Tile.bytes_of(rows, width, self.element) for width in self.dims)
        return size <= DEVICE.shared_bytes and self.fits(rows)

    def lower(self) -> None:
        """Emit kernel and launch before the forall."""
        found, call, kernel = self.found, self.call, self.kernel
        kernel.open()
        kernel.keep_resident(DEVICE.resident_least)
        kernel.op.attributes[WIDE] = ir.UnitAttr.get()  # addresses are computed as indices
        first = call.own[0]
        with ir.InsertionPoint(found.forall):
            heads, (count,) = extent(first, 1), counts_of(found.forall)
            grid = build.mul(at_most(extent(first, 0), count, self.tile_rows), heads)
        with ir.InsertionPoint(kernel.end):
            outs, rest = written(call, self.results), [x for x in call.op.operands if x not in call.written]
            used = captured(found, [], [*rest, *outs])
            code = BodyCode(found, {x: kernel.value(x, found.forall) for x in used})
            self.captured = [code.value(x, {}) for x in call.captured]
            heads, count = map(kernel.number, (heads, count))
            self.own, self.others, self.saved, self.written = (
                [code.value(x, {}) for x in buffers] for buffers in (call.own, call.others, call.saved, outs)
            )
            self.tiles = [Tile(kernel, STAGES, self.step, dim, self.element) for dim in self.dims]
            self.open()
            self.thread = builder.hardware_id("gpu.thread_id")
            self.lane = arith.remui(self.thread, build.value(DEVICE.warp))
            block = builder.hardware_id("gpu.block_id")
            tile, head = build.value(build.divide(block, heads)), arith.remui(block, build.value(heads))
            tiles = Tiles(code, call.low, call.high, self.tile_rows)
            tiles.find(tile, count, self.lane, partial(self._tile, code, head))
        kernel.close(grid, found.forall)

    def _tile(self, code: BodyCode, head: ir.Value, component: ir.Value, row: ir.Value, count: ir.Value) -> None:
        """The tile of a component from a row on, of one head."""
        call, known = self.call, code.at(component)
        others, before, *self.firsts = (code.value(x, known) for x in (call.length, call.low, *call.firsts))
        shift = build.sub(others, count) if call.keys.end else 0
        place = Place(component, head, row, count, before, Visible(call.keys, others, shift))
        self.on_tile(place, [[self._rows(x, place, block) for block in range(self.blocks)] for x in self.own])

    def walk(self, place: Place, start: list[float], step: Step) -> list[list[ir.Value]]:
        """Go along the others that the rows of a block see, of each head in turn: what is known at the end of each
        block of 16 rows, given what that is at the start."""
        end = build.minimum(build.add(place.row, self.tile_rows), place.count)
        low, high = place.visible.seen(place.row, end)
        tiles = build.ceildiv(build.maximum(build.sub(high, low), 0), self.step)
        each, first = self._heads(place)

        def met(stage: ir.Value, turn: ir.Value) -> Meeting:
            head, tile = first, turn
            if each != 1:
                size = build.value(build.maximum(tiles, 1))
                head, tile = build.add(first, arith.divui(turn, size)), arith.remui(turn, size)
            return Meeting(stage, head, build.add(low, build.mul(tile, self.step)))

        def copy(stage: ir.Value, turn: ir.Value) -> None:
            meeting = met(stage, turn)
            for tile, x, before in zip(self.tiles, self.others, self.firsts, strict=True):
                rows = build.add(before, meeting.row), build.add(before, place.visible.others)
                tile.copy(stage, self.thread, partial(chunk_at, x, *rows, meeting.head))
            self.copy_saved(place, meeting)

        inits, turns = [number(x) for x in start * self.blocks], build.mul(tiles, each)
        return self.by_block(in_stages(STAGES, turns, inits, copy, lambda s, n, state: step(met(s, n), state)))

    def _heads(self, place: Place) -> tuple[Mixed, Mixed]:
        """How many heads of the others the rows of one head meet, and the first of them."""
        own, others = (extent(x, 1) for x in (self.own[0], self.others[0]))
        if self.call.by_keys:
            group = build.divide(others, own)
            return group, build.mul(place.head, group)
        return 1, build.divide(place.head, build.divide(own, others))

    def by_block(self, state: list[ir.Value]) -> list[list[ir.Value]]:
        """What is known of each block of 16 own rows."""
        size = len(state) // self.blocks
        return [state[k : k + size] for k in range(0, len(state), size)]

    def first(self, block: int) -> ir.Value:
        """The first row of a thread in the tile, of a block of its warp."""
        warp = arith.divui(self.thread, build.value(DEVICE.warp))
        lane = arith.divui(self.lane, build.value(LANES))
        return arith.addi(build.add(build.mul(warp, self.blocks * fragments.M), block * fragments.M), lane)

    def rows_of(self, place: Place, block: int) -> list[Mixed]:
        """Where the two rows of a thread are in memory; instead of those beyond the component's last one that is
        taken."""
        first, last = build.add(place.row, self.first(block)), build.sub(place.count, 1)
        return [build.add(place.before, build.minimum(build.add(first, below), last)) for below in ROWS]

    def right(self) -> ir.Value:
        """The first column of a thread in every eight."""
        return arith.muli(arith.remui(self.lane, build.value(LANES)), build.value(2))

    # Products -------------------------------------------------------------------------------------------

    def _rows(self, buffer: ir.Value, place: Place, block: int) -> list[Parts]:
        """The fragments of the rows of a block."""
        rows, found = self.rows_of(place, block), list[Parts]()
        for column in range(0, buffer.type.shape[2], fragments.K):
            at = build.add(self.right(), column)
            corners = [(row, build.add(at, right)) for right in ROWS for row in rows]
            pairs = [self._pair(element_at(buffer, r, place.head, c)) for r, c in corners]
            found.append([list(part) for part in zip(*pairs, strict=True)])
        return found

    def _pair(self, pointer: ir.Value) -> list[ir.Value]:
        """Two neighbours, as a register of a fragment for each part."""
        if splitting.is_split(self.element):
            return splitting.registers(loaded(pointer, self.element, 2), self.element)
        return [llvm.load(fragments.register(self.element), pointer, alignment=2 * fragments.ELEMENT)]

    def products(self, tile: Tile, stage: ir.Value, own: list[list[Parts]]) -> list[ir.Value]:
        """The products of own rows with those of a tile that a thread has, block by block, of fragments from left to
        right."""
        row, along, inner = fragments.place_of(self.lane, pairs=True)
        corner = tile.place(stage, build.add(row, along), build.value(inner))
        blocks: list[list[ir.Value]] = [[] for _ in own]
        for down in range(0, self.step, 2 * fragments.N):
            halves = [[[number(0.0)] * 4 for _ in range(2)] for _ in own]
            for k in range(len(own[0])):
                others = halves_of(tile.fragments(corner, down, k * fragments.K, transposed=False))
                for block, rows in enumerate(own):
                    pairs = zip(others, halves[block], strict=True)
                    halves[block] = [splitting.multiply(rows[k], other, half, self.element) for other, half in pairs]
            for made, pair in zip(blocks, halves, strict=True):
                made += [x for half in pair for x in half]
        return [x for made in blocks for x in made]

    def scores(
        self, place: Place, meeting: Meeting, products: list[ir.Value]
    ) -> tuple[list[ir.Value], list[ir.Value] | None]:
        """The scores of all blocks, of products of queries and keys: `factor` times them are exponents of 2; and what
        they grow by with products, where that is not the scale alone and a score yields it."""
        call = self.call
        if call.softcap is not None:
            tanhs = [math_ops.tanh(arith.mulf(x, number(call.scale / call.softcap))) for x in products]
            slopes = [arith.subf(number(1.0), arith.mulf(x, x)) for x in tanhs] if call.saved else None
            return [arith.mulf(x, number(call.softcap)) for x in tanhs], slopes
        scores = products if self.plain else [arith.mulf(x, number(call.scale)) for x in products]
        if call.scored is None:
            return scores, None
        body = call.scored.regions[0].blocks[0]
        given = zip(scores, self._numbers(place, meeting), strict=True)
        made = [inlined(body, [x, *numbers, *self.captured]) for x, numbers in given]
        return [x[0] for x in made], [x[1] for x in made] if call.saved else None

    def _numbers(self, place: Place, meeting: Meeting) -> list[list[ir.Value]]:
        """Component, head, query and key of each score of a thread; instead of rows behind the last one that."""
        last, other = build.sub(place.count, 1), build.sub(place.visible.others, 1)
        firsts = [build.add(place.row, self.first(block)) for block in range(self.blocks)]
        rows = [[build.minimum(build.add(first, below), last) for below in ROWS] for first in firsts]
        right, each = build.add(meeting.row, self.right()), range(self.step // fragments.N * 4)
        columns = [build.minimum(build.add(right, k // 4 * fragments.N + k % 2), other) for k in each]
        head = build.value(meeting.head if self.call.by_keys else place.head)
        pairs = [(own[k // 2 % 2], columns[k]) for own in rows for k in each]
        turned = -1 if self.call.by_keys else 1
        return [[place.component, head, *map(build.value, pair[::turned])] for pair in pairs]

    def masked(self, place: Place, meeting: Meeting, scores: list[ir.Value]) -> list[ir.Value]:
        """Scores of all blocks, -inf where a row is not seen."""
        firsts = [build.add(place.row, self.first(block)) for block in range(self.blocks)]
        own, met = (place.row, self.tile_rows), (meeting.row, self.step)
        return place.visible.masked(own, firsts, met, self.right(), scores)

    def power(self, score: ir.Value, base: ir.Value) -> ir.Value:
        """2 to the power of `factor` times a score less what its row is measured from: what is no normal number is
        0."""
        power = math_ops.fma(score, number(self.factor), arith.negf(base))
        return build.intrinsic("llvm.nvvm.ex2.approx.ftz.f32", power)

    def added(
        self, tile: Tile, stage: ir.Value, weights: list[list[ir.Value]], sums: list[list[ir.Value]]
    ) -> list[list[ir.Value]]:
        """The sums of each block with the rows of a tile times their weights, of which a thread has those that it has
        of scores."""
        sums = [list(own) for own in sums]
        row, along, inner = fragments.place_of(self.lane, pairs=True)
        corner = tile.place(stage, build.add(row, inner), build.value(along))
        for down in range(0, self.step, fragments.K):
            lefts = [self._left(own, down) for own in weights]
            for right in range(0, len(sums[0]) // 4 * fragments.N, 2 * fragments.N):
                for n, values in enumerate(halves_of(tile.fragments(corner, down, right, transposed=True))):
                    at = 4 * (right // fragments.N + n)
                    for left, own in zip(lefts, sums, strict=True):
                        own[at : at + 4] = splitting.multiply(left, values, own[at : at + 4], self.element)
        return sums

    def _left(self, weights: list[ir.Value], down: int) -> Parts:
        """The weights of sixteen rows, as a left operand."""
        four = down // fragments.N * 4  # of a fragment: two in a row, two in the row below
        pairs = [weights[at : at + 2] for right in (0, 4) for at in (four + right, four + right + 2)]
        return list(zip(*(splitting.registers(pair, self.element) for pair in pairs), strict=True))

    # Results --------------------------------------------------------------------------------------------

    def store(self, place: Place, block: int, buffer: ir.Value, sums: list[ir.Value]) -> None:
        """Store what a thread has of a block."""
        for half in range(len(ROWS)):
            self.of_row(place, block, half, partial(self._store_row, buffer, place.head, sums[2 * half :]))

    def of_row(self, place: Place, block: int, half: int, store: Callable[[ir.Value], None]) -> None:
        """Store something for one of the two rows of a thread, given where that is in memory."""
        at = build.add(build.add(place.row, self.first(block)), ROWS[half])
        guarded([build.less(at, place.count)], lambda: store(build.add(place.before, at)))

    def _store_row(self, buffer: ir.Value, head: ir.Value, sums: list[ir.Value], row: ir.Value) -> None:
        size = byte_size(self.element)
        for k in range(0, len(sums), 4):
            both = sums[k : k + 2]
            pair = fragments.vector_of(both) if splitting.is_split(self.element) else fragments.pack(both, self.element)
            pointer = element_at(buffer, row, head, build.add(self.right(), k // 4 * fragments.N))
            llvm.store(pair, pointer, alignment=2 * size)
