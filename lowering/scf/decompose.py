"""Softmax as linalg.generic ops: maximum; exponential of the difference and its sum; product with
the inverse of the sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, math
from ragged_dialect.errors import LayoutError
from ragged_dialect.generic import along, elementwise, generic, without
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.floats import converted
from ragged_dialect.ir.kinds import neutral
from ragged_dialect.ir.walk import replace
from ragged_dialect.ops.attention import wide
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.passes.differentiate.values import empty_like, empty_without
from ragged_dialect.traits import check_elements


def decompose_softmax(op: ir.Operation, recompute: bool) -> None:
    """Replace linalg.softmax; short floats compute in f32 and round once. With `recompute` the exponentials
    are computed again for the product; else they are stored in between. PassFailure for elements that are no floats of
    16 to 64 bits."""
    source, target = op.operands
    try:
        check_elements(source, integers=False)
    except LayoutError as error:
        raise PassFailure(op, f"'{op.name}' op {error}") from error
    softmax = _Softmax(source, target, op.attributes["dimension"].value)
    replace(op, softmax.recomputed() if recompute else softmax.stored())


@dataclass(frozen=True)
class _Softmax:
    """Softmax of `source` along a dim into a tensor like `target`."""

    source: ir.Value
    target: ir.Value
    dim: int

    @property
    def rank(self) -> int:
        return len(self.source.type.shape)

    @property
    def wide(self) -> ir.Type:
        """The type that is computed in."""
        return wide(self.source.type.element_type)

    @property
    def maps(self) -> tuple[ir.AffineMap, ir.AffineMap]:
        """The maps of an operand with all dims, and of one without the dim."""
        return ir.AffineMap.get_identity(self.rank), without(self.rank, self.dim)

    def stored(self) -> ir.Value:
        """The exponentials go through memory."""
        whole, kept = self.maps

        def power_and_sum(a: list[ir.Value]) -> list[ir.Value]:
            made = self._power(a[0], a[1])
            return [made, arith.addf(a[3], made)]

        outs = [empty_like(self.source, self.wide), self._filled("sum")]
        powers, total = self._reduced([self.source, self._top()], outs, [whole, kept, whole, kept], power_and_sum)
        return self._result([powers, self._inverse(total)], [whole, kept, whole], lambda a: arith.mulf(a[0], a[1]))

    def recomputed(self) -> ir.Value:
        """Nothing of the source's size goes through memory but the result."""
        whole, kept = self.maps
        top = self._top()
        (total,) = self._reduced(
            [self.source, top],
            [self._filled("sum")],
            [whole, kept, kept],
            lambda a: [arith.addf(a[2], self._power(a[0], a[1]))],
        )
        return self._result(
            [self.source, top, self._inverse(total)],
            [whole, kept, kept, whole],
            lambda a: arith.mulf(self._power(a[0], a[1]), a[2]),
        )

    def _filled(self, kind: str) -> ir.Value:
        return shapes.fill(neutral(kind, self.wide), empty_without(self.source, frozenset({self.dim}), self.wide))

    def _power(self, x: ir.Value, top: ir.Value) -> ir.Value:
        return math.exp(arith.subf(converted(x, self.wide), top))

    def _reduced(
        self,
        ins: list[ir.Value],
        outs: list[ir.Value],
        maps: list[ir.AffineMap],
        body: Callable[[list[ir.Value]], list[ir.Value]],
    ) -> ir.OpResultList:
        return generic(ins, outs, maps, along(self.rank, self.dim), body).results

    def _top(self) -> ir.Value:
        def larger(a: list[ir.Value]) -> list[ir.Value]:
            # a NaN may be passed over here: it comes back with the exponential of its own difference
            x = converted(a[0], self.wide)
            return [arith.select(arith.cmpf(arith.CmpFPredicate.OGT, x, a[1]), x, a[1])]

        return self._reduced([self.source], [self._filled("max")], list(self.maps), larger)[0]

    def _inverse(self, total: ir.Value) -> ir.Value:
        one = build.constant(self.wide, 1.0)
        out = empty_without(self.source, frozenset({self.dim}), self.wide)
        return elementwise([total], [out], lambda a: [arith.divf(one, a[0])]).result

    def _result(
        self, ins: list[ir.Value], maps: list[ir.AffineMap], body: Callable[[list[ir.Value]], ir.Value]
    ) -> ir.Value:
        element = self.source.type.element_type

        kinds = ["parallel"] * self.rank
        return generic(
            ins, [empty_like(self.target, element)], maps, kinds, lambda a: [converted(body(a), element)]
        ).result
