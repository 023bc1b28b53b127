"""The rules of `ragged.scan`: the transpose of running sums are those from the other end, short floats added
as float32. Of other kinds what they mean is differentiated in their place."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.ir import shapes
from ragged_dialect.ops.attention import wide
from ragged_dialect.ops.making import ScanOp
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents, recorded
from ragged_dialect.passes.differentiate.tables import linearizes, transposes
from ragged_dialect.passes.differentiate.values import converted
from ragged_dialect.passes.differentiate.views import fitted
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
