"""Derivatives of the ops of rowtools, for `ragged-differentiate`."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents
from ragged_dialect.passes.differentiate.tables import View, linearizes, transposes
from ragged_dialect.passes.differentiate.views import fitted
from ragged_dialect.traits import int_attr
from rowtools.dialect import ReverseOp


@linearizes(ReverseOp)
def _(ctx: Tangents, op: View) -> ir.Value:
    return builders.inferred(ReverseOp, [ctx.given(op.x)], dim=int_attr(op, "dim"))


@transposes(ReverseOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    back = builders.inferred(ReverseOp, [cotangent], dim=int_attr(op, "dim"))
    ctx.add(op.x, fitted(back, ctx.like(op.x)))
