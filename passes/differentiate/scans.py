"""The rules of `ragged.scan` and `ragged.recurrence`: the transpose of running sums are those from the other end, short
floats added as float32, and so it is for recurrences as functions of their terms. The tangents of running products and
extremes are recurrences."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import shapes
from ragged_dialect.ir.floats import converted
from ragged_dialect.ops.attention import wide
from ragged_dialect.ops.making import RecurrenceOp, ScanOp
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents
from ragged_dialect.passes.differentiate.tables import linearizes, transposes
from ragged_dialect.passes.differentiate.values import number_like, zeros_like
from ragged_dialect.passes.differentiate.views import fitted, without_gaps
from ragged_dialect.traits import has_unit


@linearizes(ScanOp)
def _scan(ctx: Tangents, op: ScanOp) -> ir.Value | None:
    """A recurrence of what goes on to the next element: all of it where an element is no larger than those before it,
    of products the element's part. Nothing goes on to the first one, which factors of 0 say."""
    tangent = ctx.of(op.x)
    if tangent is None:
        return None
    dim, kind, reverse, exclusive = op.dim.value, op.kind.value, has_unit(op, "reverse"), has_unit(op, "exclusive")
    if kind == "sum":
        return shapes.cast(builders.scan(tangent, dim, "sum", reverse, exclusive), op.res.type)
    x, tangent = fitted(op.x, op.res), fitted(tangent, op.res)
    zeros, one = zeros_like(x), number_like(x, 1)
    before = op.res if exclusive else builders.scan(x, dim, kind, reverse, exclusive=True)
    there = arith.cmpf(arith.CmpFPredicate.OEQ, one, one)
    goes_on = builders.scan(there, dim, "max", reverse, exclusive=True)  # of booleans: whether there is one before
    if kind == "prod":
        terms, factors = arith.mulf(before, tangent), arith.select(goes_on, x, zeros)
    else:
        goes_on = arith.andi(goes_on, _is_covered(x, before, kind))
        terms, factors = arith.select(goes_on, zeros, tangent), arith.select(goes_on, one, zeros)
    made = builders.recurrence(terms, factors, dim, reverse)
    if not exclusive:
        passed = arith.mulf(x, made) if kind == "prod" else made
        made = arith.addf(arith.select(goes_on, passed, zeros), terms)
    return shapes.cast(made, op.res.type)


def _is_covered(x: ir.Value, before: ir.Value, kind: str) -> ir.Value:
    """Whether an element is no larger, or less, than what was before it, or nan was: the first of equal ones counts."""
    covered = arith.cmpf(arith.CmpFPredicate.OLE if kind == "max" else arith.CmpFPredicate.OGE, x, before)
    return arith.ori(covered, arith.cmpf(arith.CmpFPredicate.UNO, before, before))


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
