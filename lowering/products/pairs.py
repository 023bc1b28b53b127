"""Products of bf16, two in a lane: its 32 bits are the elements of two steps of a sum.

`vdpbf16ps` adds both to the f32 of a lane, that of the second step first, and rounds as a fused multiply-add does; but
it takes numbers below the smallest normal one for zeros, in what it reads and in what it makes. Where the factors say
that there is none, both give the same bits; elsewhere fused multiply-adds are used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ragged_dialect._mlir import arith, ir, llvm, memref, vector
from ragged_dialect._mlir import math as mlir_math
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.products.emit import Part, ProductEmitter, Step
from ragged_dialect.lowering.products.micro_kernel import RegisterBlock, transposed
from ragged_dialect.lowering.products.product import Places

_NORMAL = 2 * 127 - 126 + 2 * 7
"""What the exponents of the smallest factors of both sides, as they are stored, add up to at least where no sum is
below the smallest normal number, 2^-126: all are multiples of the product of their last bits then, and so are sums of
products, however they are rounded. Exponents are stored with 127 added, and a bf16 has 7 bits behind its first. Factors
below that number, whose exponents are stored as 0, may have products that are not."""
_SIZE = 0x7FFF
"""All bits of a bf16 but its sign."""

_Add = Callable[[ir.Value, ir.Value, ir.Value], ir.Value]
"""Sums, a pair in all lanes, a row of pairs: the sums with both products of each lane."""


@dataclass(frozen=True)
class PairPart(Part):
    """With the smallest exponent on the left side, but of zeros; None where that is not known."""

    least: ir.Value | None


class PairEmitter(ProductEmitter):
    """The loops of a product of bf16, with sums in f32. Panels are always copied, as rows of pairs."""

    def _scratch(self) -> ir.Value:
        pairs = build.ceildiv(self.deepest, 2)
        rows = build.ceildiv(pairs, self.regs.square) * self.regs.square
        return replace(self.regs, element=integer(32)).scratch(rows)

    def _wide(self) -> list[RegisterBlock]:
        return []

    def _of_few(self, wide: Sequence[RegisterBlock], places: Places, part: Part) -> None:
        self._panels(places, PairPart(part.m, part.rows, part.k, part.depth, self._least_of_left(places, part)))

    def _least_of_left(self, places: Places, part: Part) -> ir.Value | None:
        """The smallest exponent of a part of it, None where it is not along memory."""
        left, product = self.product.left, self.product
        ranges = {product.m: (part.m, part.rows), product.k: (part.k, part.depth)}
        if left.loops[-1] not in ranges or not left.is_along_memory():
            return None
        along, (inner, lanes) = left.loops[-1], ranges.pop(left.loops[-1])
        [(outer, (first, count))] = ranges.items()
        regs = replace(self.regs, element=ir.BF16Type.get(), lanes=2 * self.regs.square)

        def row(i: ir.Value, least: list[ir.Value]) -> list[ir.Value]:
            def some(j: ir.Value, least: list[ir.Value]) -> list[ir.Value]:
                there = left.at({**places, outer: build.add(first, i), along: build.add(inner, j)})
                used = build.minimum(build.sub(lanes, j), regs.lanes)
                return [smaller(least[0], replace(regs, used=used).load_at(left.buffer, there))]

            return flow.strided(0, regs.lanes, lanes, least, some)

        return exponent(*flow.for_loop(count, [largest(regs.lanes)], row))

    def _panel(self, regs: RegisterBlock, places: Places, n: Mixed, part: Part) -> None:
        assert isinstance(part, PairPart)
        here: Places = {**places, self.product.n: n}
        least = self._turned(regs, here, part) if self.product.turned else self._copied(regs, here, part)

        def all_numbers() -> None:
            self._in_all_numbers(regs, here, part)

        if part.least is None:
            all_numbers()
            return
        normal = are_normal(part.least, least)
        flow.choose(normal, lambda: self._in_normal_numbers(regs, here, part), all_numbers, [])

    def _in_normal_numbers(self, regs: RegisterBlock, places: Places, part: PairPart) -> None:
        """A panel times all rows of a part, where neither factors nor sums are below the smallest normal number."""
        self._blocks(regs, places, self.panel, part, sums=partial(self._pair_sums, _dots))

    def _in_all_numbers(self, regs: RegisterBlock, places: Places, part: PairPart) -> None:
        """The same to the last bit, where they may be."""
        self._blocks(regs, places, self.panel, part, sums=partial(self._pair_sums, _fused))

    def _copied(self, regs: RegisterBlock, places: Places, part: Part) -> ir.Value:
        """Pairs of rows as a panel, and the smallest exponent in them."""
        short, k = replace(regs, element=ir.BF16Type.get()), self.product.k
        columns = regs.lanes if regs.used is None else regs.used
        there = self.product.right.rows(k, {**places, k: part.k}, part.depth, columns)
        whole = build.divide(part.depth, 2)

        def pair(j: Mixed, least: ir.Value, both: bool = True) -> ir.Value:
            steps = [build.mul(j, 2), build.add(build.mul(j, 2), 1)][: 1 + both]
            rows = [short.load_at(there, [build.value(step), build.value(0)]) for step in steps]
            for row, step in zip(rows, steps, strict=True):
                least = smaller(least, row)
                short.prefetch(there, [build.value(step), build.value(regs.lanes)])
            regs.store(paired(rows[0], rows[1] if both else short.splat(0.0)), self.panel, j)
            return least

        def odd(least: ir.Value) -> list[ir.Value]:
            return self._if_odd(part, lambda: [pair(whole, least, both=False)], [least])

        [least] = flow.for_loop(whole, [largest(regs.lanes)], lambda j, so_far: [pair(j, so_far[0])])
        return exponent(*odd(least))

    def _turned(self, regs: RegisterBlock, places: Places, part: Part) -> ir.Value:
        """Pairs in columns as rows of a panel, by squares, and the smallest exponent in them. Elements behind the last
        one are zeros."""
        right, n, last = self.product.right, self.product.n, build.sub(self.columns, 1)
        short = replace(regs, element=ir.BF16Type.get(), lanes=2 * regs.square)

        def squares(j: ir.Value, least: list[ir.Value]) -> list[ir.Value]:
            one = replace(short, used=build.minimum(build.sub(part.depth, j), short.lanes))

            def square(first: ir.Value, least: list[ir.Value]) -> list[ir.Value]:
                columns = [build.minimum(build.add(build.add(places[n], first), i), last) for i in range(regs.square)]
                at = [right.at({**places, n: column, self.product.k: build.add(j, part.k)}) for column in columns]
                found = [one.load_at(right.buffer, x) for x in at]
                pairs = [vector.bitcast(vector_of(regs.square, 32), x) for x in found]
                for i, row in enumerate(transposed(pairs)):
                    vector.store(row, self.panel, [build.add(build.divide(j, 2), i), first])
                for x in found:
                    least = [smaller(least[0], x)]
                return least

            return flow.strided(0, regs.square, regs.lanes, least, square)

        return exponent(*flow.strided(0, short.lanes, part.depth, [largest(short.lanes)], squares))

    def _pair_sums(
        self, add: _Add, regs: RegisterBlock, places: Sequence[Places], panel: ir.Value, part: Part, ahead: Step | None
    ) -> list[ir.Value]:
        pairs = replace(regs, element=integer(32), used=None)

        def step(j: Mixed, sums: list[ir.Value], both: bool = True) -> list[ir.Value]:
            row = pairs.load_at(panel, [build.value(j), build.value(0)])
            found = self._pairs(places, part, build.mul(j, 2), both)
            return [add(x, vector.broadcast(pairs.vector, pair), row) for x, pair in zip(sums, found, strict=True)]

        whole = build.divide(part.depth, 2)
        sums = flow.for_loop(whole, [regs.splat(0.0)] * len(places), step)
        return self._if_odd(part, lambda: step(whole, sums, both=False), sums)

    def _pairs(self, places: Sequence[Places], part: Part, j: Mixed, both: bool) -> list[ir.Value]:
        """What `_pair` gives of some rows; of a whole block, whose rows lie side by side across memory, as a vector."""
        left, product = self.product.left, self.product
        if left.loops[-1] != product.m or not left.is_along_memory() or len(places) != self.regs.rows:
            return [self._pair(row, part, j, both) for row in places]
        block = replace(self.regs, element=ir.BF16Type.get(), lanes=len(places))
        steps = [j, build.add(j, 1)][: 1 + both]
        rows = [block.load_at(left.buffer, left.at({**places[0], product.k: build.add(part.k, k)})) for k in steps]
        pairs = paired(rows[0], rows[1] if both else block.splat(0.0))
        return [vector.extract(pairs, [], [i]) for i in range(len(places))]

    def _pair(self, row: Places, part: Part, j: Mixed, both: bool) -> ir.Value:
        """Elements of the left side in two steps, or in one and a zero, as an integer."""
        left, k = self.product.left, self.product.k
        at = [left.at({**row, k: build.add(part.k, step)}) for step in (j, build.add(j, 1))]
        if both and left.loops[-1] == k and left.is_along_memory():
            two = vector.load(ir.VectorType.get([2], ir.BF16Type.get()), left.buffer, at[0])
            return vector.extract(vector.bitcast(vector_of(1, 32), two), [], [0])
        halves = [arith.bitcast(integer(16), memref.load(left.buffer, x)) for x in at[: 1 + both]]
        low, *high = [arith.extui(integer(32), x) for x in halves]
        return arith.ori(low, arith.shli(high[0], build.constant(integer(32), 16))) if high else low

    def _if_odd(self, part: Part, last: Callable[[], list[ir.Value]], values: list[ir.Value]) -> list[ir.Value]:
        """What there is after a last step, which has no second one; else the values before."""
        if isinstance(self.depth, int) and self.depth % 2 == 0:  # and stretches are even
            return values
        odd = build.equal(build.remainder(build.value(part.depth), 2), 1)
        return flow.choose(odd, last, lambda: values, [x.type for x in values])


def integer(bits: int) -> ir.Type:
    return ir.IntegerType.get_signless(bits)


def vector_of(lanes: int, bits: int) -> ir.Type:
    return ir.VectorType.get([lanes], integer(bits))


def splat(lanes: int, bits: int, number: int) -> ir.Value:
    return vector.broadcast(vector_of(lanes, bits), build.constant(integer(bits), number))


def paired(first: ir.Value, second: ir.Value) -> ir.Value:
    """Two rows of bf16 as one of pairs, as integers: LLVM takes shuffles of bf16 apart where it may not use what
    processors have for these."""
    lanes = first.type.shape[0]
    mixed = vector.interleave(*(vector.bitcast(vector_of(lanes, 16), x) for x in (first, second)))
    return vector.bitcast(vector_of(lanes, 32), mixed)


def turned_pairs(rows: Sequence[ir.Value]) -> list[ir.Value]:
    """The columns of some rows of bf16, two elements in a lane."""
    return transposed([paired(*rows[k : k + 2]) for k in range(0, len(rows), 2)])


def largest(lanes: int) -> ir.Value:
    """What is smaller than nothing, as `smaller` has it."""
    return splat(lanes, 16, -1)


def are_normal(least: ir.Value, other: ir.Value) -> ir.Value:
    """Whether neither factors of these smallest exponents nor sums of their products are below the smallest normal
    number."""
    factors = build.more(build.minimum(least, other), 0)
    return arith.andi(factors, build.at_least(build.add(least, other), _NORMAL))


def smaller(least: ir.Value, x: ir.Value) -> ir.Value:
    """Lane by lane the bits of the smallest magnitude but zero, less one, and those of a row of bf16."""
    return arith.minui(least, arith.subi(_size(x), splat(x.type.shape[0], 16, 1)))


def larger(most: ir.Value, x: ir.Value) -> ir.Value:
    """Lane by lane the bits of the largest magnitude, and those of a row of bf16."""
    return arith.maxui(most, _size(x))


def _size(x: ir.Value) -> ir.Value:
    lanes = x.type.shape[0]
    return arith.andi(vector.bitcast(vector_of(lanes, 16), x), splat(lanes, 16, _SIZE))


def exponent(least: ir.Value) -> ir.Value:
    """The exponent of what `smaller` found, larger than any where that is nothing."""
    less_one: ir.Value = arith.index_castui(build.index_type(), build.folded(least, arith.minui))
    return arith.shrui(build.add(less_one, 1), build.value(7))


def _fused(sums: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    """By fused multiply-adds of the halves."""
    first, second = _halves(sums.type, a, b)
    return mlir_math.fma(*first, mlir_math.fma(*second, sums))


def halves_added(apart: Sequence[ir.Value], a: ir.Value, b: ir.Value) -> list[ir.Value]:
    """Sums of first and of second products, with those of two rows of pairs."""
    halves = _halves(apart[0].type, a, b)
    return [mlir_math.fma(*half, sums) for half, sums in zip(halves, apart, strict=True)]


def _halves(wide: ir.VectorType, a: ir.Value, b: ir.Value) -> tuple[list[ir.Value], list[ir.Value]]:
    """The first elements of two rows of pairs, and the second ones."""
    lanes = wide.shape[0]
    ends, shift = splat(lanes, 32, -1 << 16), splat(lanes, 32, 16)
    first = [vector.bitcast(wide, arith.shli(half, shift)) for half in (a, b)]
    return first, [vector.bitcast(wide, arith.andi(half, ends)) for half in (a, b)]


def _dots(sums: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    """By the instruction, register by register. LLVM has an intrinsic for it only where it may use all of AVX512-BF16,
    which rounds as the instruction does (`host_cpu.py`)."""
    lanes, square = sums.type.shape[0], 16
    made = sums
    for first in range(0, lanes, square):
        operands = [build.lanes_of(x, first, square) for x in (sums, a, b)]
        text = "vdpbf16ps $3, $2, $0"
        found = llvm.inline_asm(operands[0].type, operands, text, "=v,0,v,v")
        made = vector.insert_strided_slice(found, made, [first], [1])
    return made
