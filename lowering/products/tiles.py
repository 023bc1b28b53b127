"""Products of bf16 in tiles, AMX's registers of 16 rows of 16 pairs.

`tdpbf16ps` takes a tile of rows of the left side, one of rows of pairs of the right side, as `pairs.py` has them, and
one of 16 times 16 sums. What it adds to a sum is made of two others, of the first products of the pairs and of the
second ones, each in order from zero, all rounded to f32 (Intel's manual, volume 2, and seen on hardware); numbers below
the smallest normal one are zeros to it. Where the factors do not exclude them, vectors add in that order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ragged_dialect._mlir import arith, ir, memref, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.products import amx
from ragged_dialect.lowering.products.amx import BLOCK, ROW, SQUARE, Tiles
from ragged_dialect.lowering.products.emit import DEPTH, Part
from ragged_dialect.lowering.products.micro_kernel import RegisterBlock
from ragged_dialect.lowering.products.pairs import (
    PairEmitter,
    PairPart,
    exponent,
    halves_added,
    integer,
    largest,
    smaller,
    splat,
    turned_pairs,
    vector_of,
)
from ragged_dialect.lowering.products.product import Places, Product

_STRIP = 128 << 10
"""Bytes of the left side that all panels of columns read one after the other."""


class TileEmitter(PairEmitter):
    """The loops of a product of bf16 whose left side is along memory in its rows or its sums. Both sides are copied:
    the left one as tiles, one behind the other, with zeros for steps that there are not."""

    @staticmethod
    def fits(product: Product) -> bool:
        """Whether tiles have a product."""
        return product.left.loops[-1] in (product.m, product.k) and product.left.is_along_memory()

    def _scratch(self) -> ir.Value:
        self.steps = build.ceildiv(self.deepest, 2 * SQUARE)
        self.high = max(_STRIP // (self.steps * SQUARE * ROW), BLOCK) // BLOCK * BLOCK * SQUARE
        self.tiles = amx.words(self.high * self.steps)
        self.sums = self.regs.scratch(BLOCK * SQUARE)
        return super()._scratch()

    def _stretch(self) -> int:
        return DEPTH

    def _strip(self) -> int:
        return self.high

    def _least_of_left(self, places: Places, part: Part) -> ir.Value:
        """Copies the part, too."""
        along = self.product.left.loops[-1] == self.product.k
        return self._copied_rows(places, part) if along else self._turned_rows(places, part)

    def _row(self, row: Mixed, step: Mixed) -> ir.Value:
        """Where the tiles have a row of the part, in a step of 16 pairs."""
        tile = build.add(build.mul(build.divide(row, SQUARE), self.steps), step)
        return build.value(build.add(build.mul(tile, SQUARE), build.remainder(build.value(row), SQUARE)))

    def _copied_rows(self, places: Places, part: Part) -> ir.Value:
        left, product = self.product.left, self.product
        regs = replace(self.regs, element=ir.BF16Type.get(), lanes=2 * SQUARE)

        def row(i: ir.Value, least: list[ir.Value]) -> list[ir.Value]:
            def some(j: ir.Value, least: list[ir.Value]) -> list[ir.Value]:
                one = replace(regs, used=build.minimum(build.sub(part.depth, j), regs.lanes))
                at = left.at({**places, product.m: build.add(part.m, i), product.k: build.add(part.k, j)})
                found = one.load_at(left.buffer, at)
                pairs = vector.bitcast(vector_of(SQUARE, 32), found)
                vector.store(pairs, self.tiles, [self._row(i, build.divide(j, regs.lanes)), build.value(0)])
                return [smaller(least[0], found)]

            return flow.strided(0, regs.lanes, part.depth, least, some)

        return exponent(*flow.for_loop(part.rows, [largest(regs.lanes)], row))

    def _turned_rows(self, places: Places, part: Part) -> ir.Value:
        left, product = self.product.left, self.product
        regs = replace(self.regs, element=ir.BF16Type.get(), lanes=SQUARE)

        def rows(i: ir.Value, least: list[ir.Value]) -> list[ir.Value]:
            there = build.minimum(build.sub(part.rows, i), SQUARE)

            def square(j: ir.Value, least: list[ir.Value]) -> list[ir.Value]:
                found: list[ir.Value] = []
                for step in [build.add(j, n) for n in range(2 * SQUARE)]:
                    used = arith.select(build.less(step, part.depth), build.value(there), build.value(0))
                    at = left.at({**places, product.m: build.add(part.m, i), product.k: build.add(part.k, step)})
                    found.append(replace(regs, used=used).load_at(left.buffer, at))
                    least = [smaller(least[0], found[-1])]
                for n, pairs in enumerate(turned_pairs(found)):
                    row = self._row(build.add(i, n), build.divide(j, 2 * SQUARE))
                    vector.store(pairs, self.tiles, [row, build.value(0)])
                return least

            return flow.strided(0, 2 * SQUARE, part.depth, least, square)

        return exponent(*flow.strided(0, SQUARE, part.rows, [largest(SQUARE)], rows))

    def _copied(self, regs: RegisterBlock, places: Places, part: Part) -> ir.Value:
        """With zeros up to a whole tile."""
        least = super()._copied(regs, places, part)
        pairs = replace(regs, element=integer(32), used=None)
        first, end = build.ceildiv(part.depth, 2), build.mul(self._steps(part), SQUARE)
        zeros = splat(pairs.lanes, 32, 0)
        flow.strided(first, 1, end, [], lambda j, _: pairs.store(zeros, self.panel, j))
        return least

    def _steps(self, part: Part) -> Mixed:
        """Those of 16 pairs."""
        return build.ceildiv(part.depth, 2 * SQUARE)

    def _in_normal_numbers(self, regs: RegisterBlock, places: Places, part: PairPart) -> None:
        left, panel, sums = map(amx.address, (self.tiles, self.panel, self.sums))
        row, columns = 4 * self.regs.lanes, regs.lanes // SQUARE
        right, made = Tiles(panel, row, ROW, SQUARE * row), Tiles(sums, row, SQUARE * row)

        def block(first: ir.Value, _: list[ir.Value]) -> None:
            there = build.add(left, build.mul(self._row(first, 0), ROW))
            rows = Tiles(there, ROW, self.steps * SQUARE * ROW, SQUARE * ROW)
            amx.multiply(rows, right, self._steps(part), made, BLOCK, columns)
            count = build.minimum(build.sub(part.rows, first), BLOCK * SQUARE)
            self._rows(regs, places, part, first, count, lambda i: regs.load(self.sums, i).value)

        flow.strided(0, BLOCK * SQUARE, part.rows, [], block)

    def _in_all_numbers(self, regs: RegisterBlock, places: Places, part: PairPart) -> None:
        """As the instruction adds."""
        pairs = replace(regs, element=integer(32), used=None)

        def sums(i: ir.Value) -> ir.Value:
            def tile(k: ir.Value, total: list[ir.Value]) -> list[ir.Value]:
                def step(j: ir.Value, apart: list[ir.Value]) -> list[ir.Value]:
                    pair = memref.load(self.tiles, [self._row(i, k), j])
                    row = pairs.load_at(self.panel, [build.add(build.mul(k, SQUARE), j), build.value(0)])
                    return halves_added(apart, vector.broadcast(pairs.vector, pair), row)

                first, second = flow.for_loop(SQUARE, [regs.splat(0.0)] * 2, step)
                return [arith.addf(total[0], arith.addf(first, second))]

            return flow.for_loop(self._steps(part), [regs.splat(0.0)], tile)[0]

        self._rows(regs, places, part, 0, part.rows, sums)

    def _rows(
        self, regs: RegisterBlock, places: Places, part: Part, first: Mixed, count: Mixed,
        sums: Callable[[ir.Value], ir.Value],
    ) -> None:  # fmt: skip
        """Add sums to some rows of the result."""

        def row(i: ir.Value, _: list[ir.Value]) -> None:
            m = build.add(build.add(part.m, first), i)
            at = self.product.out.at({**places, self.product.m: m})
            made = sums(i)
            [before] = self._before(regs, [at], part.k)
            self._write(regs, arith.addf(made, before), at)

        flow.for_loop(count, [], row)
