"""Tangents of reductions that are not sums: of statistics of the components, which are computed again, and a sum."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from ragged_dialect._mlir import arith, ir, math
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.match import element_of
from ragged_dialect.passes.differentiate.flow import Tangents
from ragged_dialect.passes.differentiate.nests import Access, Nest, computed
from ragged_dialect.passes.differentiate.tables import DerivativeFailure
from ragged_dialect.passes.differentiate.values import compare, empty_like, is_chosen, number_like, or_zeros, zeros_like

_Body = Callable[[ir.Value, list[ir.Value]], ir.Value]
_Weigh = Callable[[ir.Value, ir.Value, list[ir.Value]], ir.Value]

_FAR = 2**63 - 1
"""An index behind all elements."""


class Reduction:
    """A reduction of elements that the body computes: the tangent of one of its results is a sum over its loops."""

    def __init__(self, ctx: Tangents, nest: Nest, number: int, combiner: ir.Operation) -> None:
        self.ctx, self.nest, self.number, self.combiner = ctx, nest, number, combiner.name
        if ctx.of(nest.outs[number].value) is not None:
            raise DerivativeFailure(
                nest.op,
                f"expected a reduction by {self.combiner} to start from what is not "
                "differentiated, got a start with a derivative",
            )
        self.out = nest.outs[number]
        self.result = Access(nest.op.results[number], self.out.map)
        lhs, rhs = combiner.operands
        self._element = rhs if lhs == nest.accumulator(number) else lhs
        self.loops = [loop for loop, kind in enumerate(nest.kinds) if kind == "reduction"]

    def element(self, given: Sequence[ir.Value]) -> ir.Value:
        """What is reduced, computed of the elements of the inputs."""
        return self._computed(given)[1]

    def _computed(self, given: Sequence[ir.Value]) -> tuple[list[ir.Operation], ir.Value]:
        nest = self.nest
        known = dict(zip(nest.elements, given, strict=False))
        known[nest.accumulator(self.number)] = given[0]  # of ops that nothing reads
        steps = nest.steps(known)
        return steps, known.get(self._element, self._element)

    def fold(self, beside: Sequence[Access], element: ir.Type, start: int, name: str, body: _Body) -> Access:
        """A statistic of every component: `body` gets what is reduced and the elements of `beside`."""
        count = len(self.nest.ins)

        def combined(given: list[ir.Value]) -> ir.Value:
            made = body(self.element(given[:count]), given[count:-1])
            return ir.Operation.create(name, results=[element], operands=[given[-1], made]).result

        def fills(like: ir.Value) -> ir.Value:
            return shapes.fill(build.constant(element, start), empty_like(like, element))

        ins = [*self.nest.ins, *beside]
        return Access(computed(ins, self.out, self.nest.kinds, combined, fills), self.out.map)

    def weighted(self, beside: Sequence[Access], weigh: _Weigh) -> ir.Value:
        """The sum of what `weigh` makes of the tangent of every element, of the element, and of those of `beside`."""
        nest, ctx = self.nest, self.ctx
        active = [k for k, access in enumerate(nest.ins) if ctx.of(access.value) is not None]
        tangents = [Access(ctx.given(nest.ins[k].value), nest.ins[k].map) for k in active]
        first = len(nest.ins) + len(beside)

        def body(given: list[ir.Value]) -> ir.Value:
            steps, element = self._computed(given)
            scope = ctx.inside(dict(zip((given[k] for k in active), given[first:-1], strict=True)))
            scope.run(steps, [element])
            tangent = or_zeros(scope.of(element), element)
            return arith.addf(given[-1], weigh(tangent, element, given[len(nest.ins) : first]))

        return computed([*nest.ins, *beside, *tangents], self.out, nest.kinds, body, zeros_like)


def chosen(ctx: Tangents, nest: Nest, number: int, combiner: ir.Operation) -> ir.Value | None:
    """The tangent of the largest, or least, element: that of the first one that equals it, or is nan where nan is the
    largest. Its place is found first, by one loop after the other."""
    it = Reduction(ctx, nest, number, combiner)
    i64 = build.i64()
    places: list[Access] = []

    def are_here(at: Sequence[ir.Value]) -> list[ir.Value]:
        return [build.equal(build.to_i64(loop_index(loop)), place) for loop, place in zip(it.loops, at, strict=False)]

    for loop in it.loops:

        def body(element: ir.Value, beside: list[ir.Value], loop: int = loop) -> ir.Value:
            here = functools.reduce(arith.andi, are_here(beside[1:]), is_chosen(it.combiner, element, beside[0]))
            return arith.select(here, build.to_i64(loop_index(loop)), build.constant(i64, _FAR))

        places.append(it.fold([it.result, *places], i64, _FAR, "arith.minsi", body))

    def weigh(tangent: ir.Value, element: ir.Value, beside: list[ir.Value]) -> ir.Value:
        return arith.select(functools.reduce(arith.andi, are_here(beside)), tangent, zeros_like(tangent))

    return it.weighted(places, weigh)


def multiplied(ctx: Tangents, nest: Nest, number: int, combiner: ir.Operation) -> ir.Value | None:
    """The tangent of a product: every element's times the product of the others, which is found without a division
    by 0: from the product of those that are not 0, and the number and the sum of those that are. The sum is 0, and its
    derivative is not: it stands for the only other zero, so that second derivatives are right. Of several other zeros
    the product, and its first derivative, are 0; further ones are not known, and come out infinite or nan."""
    it = Reduction(ctx, nest, number, combiner)
    i64 = build.i64()
    type_ = element_of(it.result.value.type)

    def is_zero(element: ir.Value) -> ir.Value:
        return compare("oeq", element, zeros_like(element))

    def flag(element: ir.Value, _: list[ir.Value]) -> ir.Value:
        return arith.extui(i64, is_zero(element))

    def other(element: ir.Value, _: list[ir.Value]) -> ir.Value:
        return arith.select(is_zero(element), build.constant(type_, 1), element)

    def zero(element: ir.Value, _: list[ir.Value]) -> ir.Value:
        return arith.select(is_zero(element), element, zeros_like(element))

    zeros = it.fold([], i64, 0, "arith.addi", flag)
    product = it.fold([], type_, 1, "arith.mulf", other)
    total = it.fold([], type_, 0, "arith.addf", zero)

    def weigh(tangent: ir.Value, element: ir.Value, beside: list[ir.Value]) -> ir.Value:
        count, whole, zeros_sum, unknown, start = beside
        others = arith.subi(count, arith.extui(i64, is_zero(element)))
        rest = arith.select(build.equal(others, 1), arith.subf(zeros_sum, zero(element, [])), unknown)
        factor = arith.select(build.equal(others, 0), build.constant(type_, 1), rest)
        weight = arith.mulf(start, arith.divf(whole, other(element, [])))
        return arith.mulf(tangent, arith.mulf(factor, weight))

    return it.weighted([zeros, product, total, _unknown(zeros, total), it.out], weigh)


def _unknown(zeros: Access, total: Access) -> Access:
    """Where there are several zeros a number that is 0, and its derivative too, but no second one is finite."""
    several = build.more(zeros.value, number_like(zeros.value, 1))
    safe = arith.select(several, total.value, number_like(total.value, 1))
    return Access(math.powf(safe, number_like(safe, 1.5)), total.map)
