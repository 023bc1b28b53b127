"""The rules of `ragged.scan` and `ragged.recurrence`: the transpose of running sums are those from the other end, short
floats added as float32, and so it is for recurrences as functions of their terms. Of scans of other kinds what they
mean is differentiated in their place."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import shapes
from ragged_dialect.ops.attention import wide
from ragged_dialect.ops.making import RecurrenceOp, ScanOp
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents, recorded
from ragged_dialect.passes.differentiate.tables import linearizes, transposes
from ragged_dialect.passes.differentiate.values import converted
from ragged_dialect.passes.differentiate.views import fitted, without_gaps
from ragged_dialect.passes.ragged_decompose_scans import decomposed
from ragged_dialect.traits import has_unit


@linearizes(ScanOp)
def _scan(ctx: Tangents, op: ScanOp) -> ir.Value | None:
    tangent = ctx.of(op.x)
    if tangent is None:
        return None
    if op.kind.value == "sum":
        made = builders.scan(tangent, op.dim.value, "sum", has_unit(op, "reverse"))
        return shapes.cast(made, op.res.type)
    ops, made = recorded(ir.InsertionPoint.current.block, lambda: [decomposed(op.operation)])
    scope = ctx.inside({})
    scope.run(ops, made)
    return scope.of(made[0])


@transposes(ScanOp)
def _transpose(back: Cotangents, op: ScanOp, given: ir.Value) -> None:
    terms = converted(given, wide(given.type.element_type))
    made = builders.scan(terms, op.dim.value, "sum", not has_unit(op, "reverse"))
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
