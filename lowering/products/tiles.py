"""Products of bf16 in tiles, AMX's registers of 16 rows of 16 pairs.

`tdpbf16ps` takes a tile of rows of the left side, one of rows of pairs of the right side, as `pairs.py` has them, and
one of 16 times 16 sums. What it adds to a sum is made of two others, of the first products of the pairs and of the
second ones, each in order from zero, all rounded to f32 (Intel's manual, volume 2, and seen on hardware); numbers below
the smallest normal one are zeros to it. Where the factors do not exclude them, vectors add in that order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ragged_dialect._mlir import arith, ir, llvm, memref, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.products.emit import DEPTH, Part
from ragged_dialect.lowering.products.micro_kernel import RegisterBlock, transposed
from ragged_dialect.lowering.products.pairs import (
    PairEmitter,
    PairPart,
    exponent,
    halves_added,
    integer,
    largest,
    smaller,
    vector_of,
)
from ragged_dialect.lowering.products.product import Places, Product

_SQUARE = 16
"""Rows of a tile, and pairs of a row."""
_TILES = 2
"""Tiles of rows, and of columns, of a block of sums: four sums wait for each other's latency of 52 cycles, of which an
instruction takes 16 (Intel's optimization manual, on Sapphire Rapids), and each tile that is loaded is used twice."""
_STRIP = 128 << 10
"""Bytes of the left side that all panels of columns read one after the other."""
_ROW = 4 * _SQUARE
"""Bytes of a row of a tile."""


def shape_tiles() -> None:
    """What comes before all that uses tiles, which have one shape: `ldtilecfg` has that of each in 64 bytes."""
    memory = _words(1)
    numbers = [1, 0, 0, 0, *[_ROW << 16 | _ROW] * 4, 0, 0, 0, 0, *[_SQUARE * 0x01010101] * 2, 0, 0]
    words = ir.DenseElementsAttr.get([ir.IntegerAttr.get(integer(32), x) for x in numbers], vector_of(_SQUARE, 32))
    vector.store(arith.constant(vector_of(_SQUARE, 32), words), memory, [build.value(0)] * 2)
    _run("ldtilecfg ($0)", memref.extract_aligned_pointer_as_index(memory))


def free_tiles() -> None:
    """What comes behind it: a processor keeps tiles that are in use whenever it changes from one thread to another."""
    _run("tilerelease")


class TileEmitter(PairEmitter):
    """The loops of a product of bf16 whose left side is along memory in its rows or its sums. Both sides are copied:
    the left one as tiles, one behind the other, with zeros for steps that there are not."""

    @staticmethod
    def fits(product: Product) -> bool:
        """Whether tiles have a product."""
        return product.left.loops[-1] in (product.m, product.k) and product.left.is_along_memory()

    def _scratch(self) -> ir.Value:
        self.steps = build.ceildiv(self.deepest, 2 * _SQUARE)
        self.high = max(_STRIP // (self.steps * _SQUARE * _ROW), _TILES) // _TILES * _TILES * _SQUARE
        self.tiles = _words(self.high * self.steps)
        self.sums = self.regs.scratch(_TILES * _SQUARE)
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
        tile = build.add(build.mul(build.divide(row, _SQUARE), self.steps), step)
        return build.value(build.add(build.mul(tile, _SQUARE), build.remainder(build.value(row), _SQUARE)))

    def _copied_rows(self, places: Places, part: Part) -> ir.Value:
        left, product = self.product.left, self.product
        regs = replace(self.regs, element=ir.BF16Type.get(), lanes=2 * _SQUARE)

        def row(i: ir.Value, least: list[ir.Value]) -> list[ir.Value]:
            def some(j: ir.Value, least: list[ir.Value]) -> list[ir.Value]:
                one = replace(regs, used=build.minimum(build.sub(part.depth, j), regs.lanes))
                at = left.at({**places, product.m: build.add(part.m, i), product.k: build.add(part.k, j)})
                found = one.load_at(left.buffer, at)
                pairs = vector.bitcast(vector_of(_SQUARE, 32), found)
                vector.store(pairs, self.tiles, [self._row(i, build.divide(j, regs.lanes)), build.value(0)])
                return [smaller(least[0], found)]

            return flow.strided(0, regs.lanes, part.depth, least, some)

        return exponent(*flow.for_loop(part.rows, [largest(regs.lanes)], row))

    def _turned_rows(self, places: Places, part: Part) -> ir.Value:
        left, product = self.product.left, self.product
        regs = replace(self.regs, element=ir.BF16Type.get(), lanes=_SQUARE)

        def rows(i: ir.Value, least: list[ir.Value]) -> list[ir.Value]:
            there = build.minimum(build.sub(part.rows, i), _SQUARE)

            def square(j: ir.Value, least: list[ir.Value]) -> list[ir.Value]:
                found: list[ir.Value] = []
                for step in [build.add(j, n) for n in range(2 * _SQUARE)]:
                    used = arith.select(build.less(step, part.depth), build.value(there), build.value(0))
                    at = left.at({**places, product.m: build.add(part.m, i), product.k: build.add(part.k, step)})
                    found.append(replace(regs, used=used).load_at(left.buffer, at))
                    least = [smaller(least[0], found[-1])]
                both = [vector.interleave(*found[n : n + 2]) for n in range(0, 2 * _SQUARE, 2)]
                for n, pairs in enumerate(transposed([vector.bitcast(vector_of(_SQUARE, 32), x) for x in both])):
                    row = self._row(build.add(i, n), build.divide(j, 2 * _SQUARE))
                    vector.store(pairs, self.tiles, [row, build.value(0)])
                return least

            return flow.strided(0, 2 * _SQUARE, part.depth, least, square)

        return exponent(*flow.strided(0, _SQUARE, part.rows, [largest(_SQUARE)], rows))

    def _copied(self, regs: RegisterBlock, places: Places, part: Part) -> ir.Value:
        """With zeros up to a whole tile."""
        least = super()._copied(regs, places, part)
        pairs = replace(regs, element=integer(32), used=None)
        first, end = build.ceildiv(part.depth, 2), build.mul(self._steps(part), _SQUARE)
        zeros = vector.broadcast(pairs.vector, build.constant(integer(32), 0))
        flow.strided(first, 1, end, [], lambda j, _: pairs.store(zeros, self.panel, j))
        return least

    def _steps(self, part: Part) -> Mixed:
        """Those of 16 pairs."""
        return build.ceildiv(part.depth, 2 * _SQUARE)

    def _in_normal_numbers(self, regs: RegisterBlock, places: Places, part: PairPart) -> None:
        columns = regs.lanes // _SQUARE
        left, panel, sums = map(memref.extract_aligned_pointer_as_index, (self.tiles, self.panel, self.sums))
        panel_row = 4 * self.regs.lanes

        def block(first: ir.Value, _: list[ir.Value]) -> None:
            rows = range(_TILES)
            blocks = [(i, j, i * _TILES + j) for i in rows for j in range(columns)]
            _run("\n".join(f"tilezero %tmm{sum_}" for *_, sum_ in blocks))

            def step(k: ir.Value, _: list[ir.Value]) -> None:
                a = build.add(left, build.mul(self._row(first, k), _ROW))
                b = build.add(panel, build.mul(k, _SQUARE * panel_row))
                loads = [f"tileloadd {i * self.steps * _SQUARE * _ROW}($0,$2,1), %tmm{4 + i}" for i in rows]
                loads += [f"tileloadd {j * _ROW}($1,$3,1), %tmm{6 + j}" for j in range(columns)]
                dots = [f"tdpbf16ps %tmm{6 + j}, %tmm{4 + i}, %tmm{sum_}" for i, j, sum_ in blocks]
                _run("\n".join(loads + dots), a, b, _ROW, panel_row)

            flow.for_loop(self._steps(part), [], step)
            places_of = [(i * _SQUARE * panel_row + j * _ROW, sum_) for i, j, sum_ in blocks]
            _run("\n".join(f"tilestored %tmm{sum_}, {at}($0,$1,1)" for at, sum_ in places_of), sums, panel_row)
            count = build.minimum(build.sub(part.rows, first), _TILES * _SQUARE)
            self._rows(regs, places, part, first, count, lambda i: regs.load(self.sums, i).value)

        flow.strided(0, _TILES * _SQUARE, part.rows, [], block)

    def _in_all_numbers(self, regs: RegisterBlock, places: Places, part: PairPart) -> None:
        """As the instruction adds."""
        pairs = replace(regs, element=integer(32), used=None)

        def sums(i: ir.Value) -> ir.Value:
            def tile(k: ir.Value, total: list[ir.Value]) -> list[ir.Value]:
                def step(j: ir.Value, apart: list[ir.Value]) -> list[ir.Value]:
                    pair = memref.load(self.tiles, [self._row(i, k), j])
                    row = pairs.load_at(self.panel, [build.add(build.mul(k, _SQUARE), j), build.value(0)])
                    return halves_added(apart, vector.broadcast(pairs.vector, pair), row)

                first, second = flow.for_loop(_SQUARE, [regs.splat(0.0)] * 2, step)
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


def _words(rows: int) -> ir.Value:
    """Room for rows of tiles."""
    return RegisterBlock(_SQUARE, _SQUARE, _SQUARE, integer(32)).scratch(rows)


def _run(text: str, *operands: Mixed) -> None:
    """Instructions that read and write memory and tiles, which nothing else uses."""
    constraints = ",".join([*["r"] * len(operands), "~{memory}"])
    llvm.inline_asm(None, [build.to_i64(x) for x in operands], text, constraints, has_side_effects=True)
