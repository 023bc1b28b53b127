"""The loops of a product of matrices around blocks of vector registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from ragged_dialect._mlir import arith, ir, memref, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.buffers.subviews import subview
from ragged_dialect.lowering.products.micro_kernel import RegisterBlock, transposed
from ragged_dialect.lowering.products.product import Places, Product

DEPTH = 256
"""Products that a register adds before its sum goes to memory: a panel of the right side for them is 32 KiB, a first
cache of a processor with AVX-512 (16 KiB with less), and long sums are sums of sums. Large products take 0.95 of their
time with 128."""
_APART = 64
"""The same where the left side is across memory in the sums, as in gradients of weights: each of its elements is in
another cache line, and lines that are far from one another share few sets of the first cache."""
_IN_PLACE = 4
"""Blocks of rows up to which a panel is read where it is: groups of 16 and 32 rows by weights of 128x32 take 0.72 and
0.79 of the time so (Zen 5), of 256x256 0.55 and 0.83, of 64 rows 1.1."""
_NEXT = 512 << 10
"""Bytes of the right side of a group up to which the next group's is asked for: half of a second cache of 1 MiB."""
_STRIP = 512 << 10
"""Bytes of the left side that all panels of columns read one after the other: half of a second cache of 1 MiB, the
least that processors with AVX-512 have."""


@dataclass(frozen=True)
class Part:
    """Rows of the left side from m on, and products from k on."""

    m: ir.Value
    rows: Mixed
    k: ir.Value
    depth: Mixed


Step: TypeAlias = Callable[[ir.Value], None]
"""What a step of a sum does beside."""
Sums: TypeAlias = "Callable[[RegisterBlock, Sequence[Places], ir.Value, Part, Step | None], list[ir.Value]]"
"""The sums of a part, for a block of registers, the places of its rows, a panel and what a step does beside."""
_Ahead: TypeAlias = Callable[[Mixed], Step]
"""Of a block of rows of a number: what asks for memory that is read later, in a step of its sums."""


class ProductEmitter:
    """The loops of a product: around it, over strips of rows, stretches of the sum, panels of columns and blocks of
    rows. With `zeroed` what is in the result is not read. The right side `is_own` where rows of another group have
    another one."""

    def __init__(self, product: Product, regs: RegisterBlock, zeroed: bool, own: bool) -> None:
        self.product, self.regs, self.zeroed = product, regs, zeroed
        out = product.out.loops
        self.outer = [loop for loop in out if loop not in (product.m, product.n)]
        self.is_own = own or any(loop in product.right.loops for loop in self.outer)
        self.rows = product.out.extent(product.m)
        self.depth = product.left.extent(product.k)
        self.columns = product.out.extent(product.n)
        self.stretch = self._stretch()
        self.deepest = min(self.depth, self.stretch) if isinstance(self.depth, int) else self.stretch
        self.panel = self._scratch()
        self.row = None if out[-1] == product.n else regs.scratch(1)
        self.wide = self._wide()

    def _stretch(self) -> int:
        """Products that are added before the sums go to memory."""
        return DEPTH if self.product.left.loops[-1] == self.product.k else _APART

    def _scratch(self) -> ir.Value:
        """Room for a panel of the right side, in whole squares."""
        return self.regs.scratch(build.ceildiv(self.deepest, self.regs.square) * self.regs.square)

    def run(self) -> None:
        """Emit all of it."""
        self._around(self.outer, {})

    def _around(self, loops: Sequence[int], places: Places) -> None:
        if not loops:
            self._strips(places)
            return
        count = self.product.out.extent(loops[0])
        flow.for_loop(count, [], lambda i, _: self._around(loops[1:], {**places, loops[0]: i}))

    def _strips(self, places: Places) -> None:
        """Parts of the left side that stay in the second cache while the panels go over them."""
        high = self._strip()

        def part(m: ir.Value, k: ir.Value) -> None:
            rows = build.minimum(build.sub(self.rows, m), high)
            depth = build.minimum(build.sub(self.depth, k), self.stretch)
            self._of_few(self.wide, places, Part(m, rows, k, depth))

        def strip(m: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            all_ = build.maximum(self.depth, 1) if self.zeroed else self.depth
            return flow.strided(0, self.stretch, all_, [], lambda k, _: part(m, k))

        flow.strided(0, high, self.rows, [], strip)

    def _strip(self) -> int:
        """The rows of a part."""
        return max(_STRIP // (max(self.deepest, 1) * self.regs.size * self.regs.rows), 1) * self.regs.rows

    def _wide(self) -> list[RegisterBlock]:
        """Blocks of fewer rows and more columns, for up to the rows of a usual one: few rows wait for the right
        side, which is read in longer runs (256 groups of 256x256, 64 MiB: of a row 1.5 ms and of 8 3.0, with panels
        3.8 and 4.0)."""
        regs, area = self.regs, self.regs.rows * self.regs.lanes
        blocks = [replace(regs, rows=rows, lanes=area // rows) for rows in (2, 4) if rows < regs.rows]
        many = self.row is not None or self.product.turned or (isinstance(self.rows, int) and self.rows > regs.rows)
        return [b for b in blocks if not many and isinstance(self.columns, int) and self.columns % b.lanes == 0]

    def _of_few(self, wide: Sequence[RegisterBlock], places: Places, part: Part) -> None:
        """Wide blocks for few rows, of as many if there is one, and panels for others."""
        if not wide:
            self._panels(places, part)
            return
        regs, *others = wide

        def columns(n: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            here, k = {**places, self.product.n: n}, self.product.k
            there = self.product.right.rows(k, {**here, k: part.k}, part.depth, regs.lanes)
            each = partial(self._block, regs, here, there, part, None)
            return flow.strided(0, regs.rows, part.rows, [], lambda m, _: each(m))

        def few() -> list[ir.Value]:
            return flow.strided(0, regs.lanes, self.columns, [], columns)

        def more() -> list[ir.Value]:
            self._of_few(others, places, part)
            return []

        flow.choose(build.at_most(part.rows, regs.rows if others else self.regs.rows), few, more, [])

    def _panels(self, places: Places, part: Part) -> None:
        """Panels of the columns; where it is not known how many there are, of one register, so that few waste no more
        than that, and there is one code for all."""
        columns, regs, whole = self.columns, replace(self.regs, lanes=self.regs.square), 0
        if isinstance(columns, int):
            regs, whole = self.regs, columns - columns % self.regs.lanes
        if whole:
            flow.strided(0, regs.lanes, whole, [], lambda n, _: self._panel(regs, places, n, part))

        def end(n: ir.Value, _: list[ir.Value]) -> None:
            rest = columns - whole if isinstance(columns, int) else build.minimum(build.sub(columns, n), regs.lanes)
            self._panel(regs.holding(rest), places, n, part)

        if whole != columns:
            flow.strided(whole, regs.lanes, columns, [], end)

    def _panel(self, regs: RegisterBlock, places: Places, n: Mixed, part: Part) -> None:
        """Rows of the right side times all rows of the left; together where many blocks read them, as they do of one
        that all groups have: where they are, they may lie across cache lines and in few sets of those. The processor
        does not foresee the next panel's, which are asked for as they are copied or while few blocks are computed;
        where the next group's are asked for instead, this one's are near."""
        here = {**places, self.product.n: n}
        columns = regs.lanes if regs.used is None else regs.used
        if self.product.turned:
            self._turn(regs, here, part.k, part.depth)
            self._blocks(regs, here, subview(self.panel, [0, 0], [part.depth, columns]), part)
            return
        there = self.product.right.rows(self.product.k, {**here, self.product.k: part.k}, part.depth, columns)
        several = not isinstance(self.columns, int) or self.columns > regs.lanes

        def next_panel(j: ir.Value) -> None:
            if several:
                regs.prefetch(there, [j, build.value(regs.lanes)])

        group = self._next_group(regs, here, part) if self._asks_for_next_group() else None

        def copied() -> list[ir.Value]:
            def row(j: ir.Value, _: list[ir.Value]) -> None:
                regs.store(regs.load_at(there, [j, build.value(0)]), self.panel, j)
                if group is None:
                    next_panel(j)

            flow.for_loop(part.depth, [], row)
            self._blocks(regs, here, subview(self.panel, [0, 0], [part.depth, columns]), part, group, many=True)
            return []

        def in_place() -> list[ir.Value]:
            self._blocks(regs, here, there, part, group or (lambda _: next_panel))
            return []

        if self.is_own:
            flow.choose(build.more(self.rows, _IN_PLACE * regs.rows), copied, in_place, [])
        else:
            copied()

    def _asks_for_next_group(self) -> bool:
        """Whether what is behind the right side is asked for: that of the next group or of the next stretch, whose
        rows lie one behind the other."""
        if not self.is_own or not isinstance(self.columns, int) or self.deepest * self.columns * self.regs.size > _NEXT:
            return False
        right = self.product.right
        return right.buffer.type.get_strides_and_offset()[0][right.loops.index(self.product.k)] == self.columns

    def _next_group(self, regs: RegisterBlock, places: Places, part: Part) -> _Ahead:
        """Asks for what is behind the right side in memory, in its order and over all panels: panels are pieces of
        rows, which a processor reads from memory at less than half the rate, and waits for. A register in a step, and
        blocks of rows in turn."""
        n, k = places[self.product.n], self.product.k
        asked, parts = replace(regs, lanes=regs.square, used=None), regs.lanes // regs.square
        behind = {**places, self.product.n: 0, k: build.add(part.k, part.depth)}
        following = self.product.right.rows(k, behind, part.depth, asked.lanes)

        def of_block(number: Mixed) -> Callable[[ir.Value], None]:
            turn = arith.remui(build.value(number), build.value(parts))
            before = build.add(build.mul(n, part.depth), build.mul(turn, build.mul(part.depth, asked.lanes)))

            def step(j: ir.Value) -> None:
                place = build.add(before, build.mul(j, asked.lanes))
                asked.prefetch(following, [build.value(0), build.value(place)])

            return step

        return of_block

    def _blocks(
        self, regs: RegisterBlock, places: Places, panel: ir.Value, part: Part, ahead: _Ahead | None = None,
        many: bool = False, sums: Sums | None = None,
    ) -> None:  # fmt: skip
        """Blocks of rows times a panel, as many as there are and half of one for the last. Of many blocks those ask for
        memory that come first, until each line was. `sums` are those of numbers by default."""
        few = replace(regs, rows=regs.rows // 2)
        whole = build.mul(build.divide(part.rows, regs.rows), regs.rows)
        blocks = [(regs, 0, whole, ahead), (few, whole, part.rows, ahead)]
        if many and ahead:
            first = build.minimum(whole, regs.rows * regs.lanes // regs.square)
            blocks = [(regs, 0, first, ahead), (regs, first, whole, None), (few, whole, part.rows, None)]
        for block, low, high, then in blocks:
            if low != high:
                each = partial(self._block, block, places, panel, part, then, sums=sums)
                flow.strided(low, block.rows, high, [], lambda m, _, each=each: each(m))

    def _turn(self, regs: RegisterBlock, places: Places, k: ir.Value, count: Mixed) -> None:
        """Columns of the right side as rows of the panel: squares of them, of which what is outside is not used."""
        right, n, last = self.product.right, self.product.n, build.sub(self.columns, 1)

        def squares(j: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            one = replace(regs, lanes=regs.square, used=build.minimum(build.sub(count, j), regs.square))

            def square(first: ir.Value, _: list[ir.Value]) -> None:
                columns = [build.minimum(build.add(build.add(places[n], first), i), last) for i in range(regs.square)]
                at = [right.at({**places, n: column, self.product.k: build.add(j, k)}) for column in columns]
                for i, row in enumerate(transposed([one.load_at(right.buffer, x) for x in at])):
                    vector.store(row, self.panel, [build.add(j, i), first])
                for column in columns:
                    ahead = {**places, n: build.add(column, regs.lanes), self.product.k: build.add(j, k)}
                    regs.prefetch(right.buffer, right.at(ahead))

            return flow.strided(0, regs.square, regs.lanes, [], square)

        flow.strided(0, regs.square, count, [], squares)

    def _block(
        self, regs: RegisterBlock, places: Places, panel: ir.Value, part: Part, ahead: _Ahead | None,
        first: ir.Value, sums: Sums | None = None,
    ) -> None:  # fmt: skip
        """A block of rows of a part from one on; the last row again where a small one reaches over it."""
        product, last, m = self.product, build.sub(self.rows, 1), build.add(part.m, first)
        rows = [build.add(m, i) for i in range(regs.rows)]
        rows = rows if regs.rows == self.regs.rows else [build.minimum(row, last) for row in rows]
        places_of = [{**places, product.m: row} for row in rows]

        there = [product.out.at(row) for row in places_of]
        for at in there if self.row is None else []:
            regs.prefetch(product.out.buffer, at, write=True)
        step = None if ahead is None else ahead(build.divide(first, self.regs.rows))
        made = (sums or self._sums)(regs, places_of, panel, part, step)
        before = self._before(regs, there, part.k)
        for at, x, y in zip(there, before, made, strict=True):  # all were read before: the last row may come twice
            self._write(regs, arith.addf(x, y), at)

    def _sums(
        self, regs: RegisterBlock, places: Sequence[Places], panel: ir.Value, part: Part, ahead: Step | None
    ) -> list[ir.Value]:
        """Those of a stretch, of rows of the left side at some places."""
        left, k = self.product.left, self.product.k

        def elements(j: ir.Value) -> list[ir.Value]:
            at = build.add(j, part.k)
            return [memref.load(left.buffer, left.at({**row, k: at})) for row in places]

        zeros = [regs.splat(0.0)] * len(places)
        return regs.product(part.depth, zeros, elements, lambda j: regs.load_at(panel, [j, build.value(0)]), ahead)

    def _before(self, regs: RegisterBlock, there: Sequence[list[ir.Value]], k: ir.Value) -> list[ir.Value]:
        """What the sums of a stretch are added to."""

        def none() -> list[ir.Value]:
            return [regs.splat(0.0)] * len(there)

        def some() -> list[ir.Value]:
            return [self._read(regs, at) for at in there]

        if not self.zeroed:
            return some()
        if isinstance(self.depth, int) and self.depth <= self.stretch:
            return none()
        return flow.choose(build.equal(k, 0), none, some, [regs.vector] * len(there))

    def _read(self, regs: RegisterBlock, at: list[ir.Value]) -> ir.Value:
        """A row of the result."""
        if self.row is None:
            return regs.load_at(self.product.out.buffer, at)
        self._each(regs, at, lambda one, lane: memref.store(memref.load(self.product.out.buffer, one), self.row, lane))
        return regs.load_at(self.row, [build.value(0), build.value(0)])

    def _write(self, regs: RegisterBlock, made: ir.Value, at: list[ir.Value]) -> None:
        """A row to the result."""
        if self.row is None:
            regs.store_at(made, self.product.out.buffer, at)
            return
        regs.store(made, self.row, 0)
        self._each(regs, at, lambda one, lane: memref.store(memref.load(self.row, lane), self.product.out.buffer, one))

    def _each(
        self, regs: RegisterBlock, at: list[ir.Value], move: Callable[[list[ir.Value], list[ir.Value]], None]
    ) -> None:
        """Elements of a row of the result that is across memory, one by one: a processor has no faster way."""
        dim, zero = self.product.out.loops.index(self.product.n), build.value(0)

        def one(lane: ir.Value, _: list[ir.Value]) -> None:
            move([*at[:dim], build.value(build.add(at[dim], lane)), *at[dim + 1 :]], [zero, lane])

        flow.for_loop(regs.lanes if regs.used is None else regs.used, [], one)
