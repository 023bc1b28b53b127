"""The rules of `ragged.scan` and `ragged.recurrence`: the transpose of running sums are those from the other end, short
floats added as float32, and so it is for recurrences as functions of their terms. The tangents of running products and
extremes are recurrences."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import shapes
from ragged_dialect.ops.attention import wide
from ragged_dialect.ops.making import RecurrenceOp, ScanOp
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents
from ragged_dialect.passes.differentiate.tables import linearizes, transposes
from ragged_dialect.passes.differentiate.values import converted, number_like, zeros_like
from ragged_dialect.passes.differentiate.views import fitted, without_gaps
from ragged_dialect.traits import has_unit


@linearizes(ScanOp)
def _scan(ctx: Tangents, op: ScanOp) -> ir.Value | None:
    """Of what there is before an element, and of the element: h[t] = factors[t] * h[t - 1] + terms[t]."""
    tangent = ctx.of(op.x)
    if tangent is None:
        return None
    dim, kind, reverse, exclusive = op.dim.value, op.kind.value, has_unit(op, "reverse"), has_unit(op, "exclusive")
    if kind == "sum":
        return shapes.cast(builders.scan(tangent, dim, "sum", reverse, exclusive), op.res.type)
    x, tangent = fitted(op.x, op.res), fitted(tangent, op.res)
    before = op.res if exclusive else builders.scan(x, dim, kind, reverse, exclusive=True)
    terms, factors = (_of_product if kind == "prod" else _of_extreme)(x, before, tangent, kind)
    made = builders.recurrence(terms, factors, dim, reverse)
    return shapes.cast(made if exclusive else arith.addf(arith.mulf(factors, made), terms), op.res.type)


def _of_product(x: ir.Value, before: ir.Value, tangent: ir.Value, _: str) -> tuple[ir.Value, ir.Value]:
    return arith.mulf(before, tangent), x


def _of_extreme(x: ir.Value, before: ir.Value, tangent: ir.Value, kind: str) -> tuple[ir.Value, ir.Value]:
    """That of the first element that is as large: where one is larger than those before it, or nan where none was."""
    further = arith.CmpFPredicate.UGT if kind == "max" else arith.CmpFPredicate.ULT
    known = arith.cmpf(arith.CmpFPredicate.ORD, before, before)
    is_new = arith.andi(arith.cmpf(further, x, before), known)
    zeros = zeros_like(x)
    return arith.select(is_new, tangent, zeros), arith.select(is_new, zeros, number_like(x, 1))


@transposes(ScanOp)
def _transpose(back: Cotangents, op: ScanOp, given: ir.Value) -> None:
    terms = converted(given, wide(given.type.element_type))
    made = builders.scan(terms, op.dim.value, "sum", not has_unit(op, "reverse"), has_unit(op, "exclusive"))
    back.add(op.x, fitted(converted(made, given.type), back.like(op.x)))


@linearizes(RecurrenceOp)
def _recurrence(ctx: Tangents, op: RecurrenceOp) -> ir.Value | None:
    """A recurrence of the tangents of terms, and of those of factors times what there was before."""
    terms, factors = ctx.of(op.x), ctx.of(op.factors)
    if factors is not None:
        of_factors = arith.mulf(fitted(factors, op.res), op.res)
        terms = of_factors if terms is None else arith.addf(fitted(terms, op.res), of_factors)
    if terms is None:
        return None
    made = builders.recurrence(fitted(terms, op.res), without_gaps(op.factors), op.dim.value, has_unit(op, "reverse"))
    return shapes.cast(made, op.res.type)


@transposes(RecurrenceOp)
def _transpose_recurrence(back: Cotangents, op: RecurrenceOp, given: ir.Value) -> None:
    assert not back.is_linear(op.factors)
    element = wide(given.type.element_type)
    terms, factors = (converted(x, element) for x in (given, without_gaps(op.factors)))
    made = builders.recurrence(terms, factors, op.dim.value, not has_unit(op, "reverse"))
    back.add(op.x, fitted(converted(made, given.type), back.like(op.x)))
