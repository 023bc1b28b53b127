"""Rules of upstream tensor ops: linear, and transposed by indices."""

from __future__ import annotations

from typing import Any

from ragged_dialect._mlir import ir, tensor
from ragged_dialect.ir import shapes
from ragged_dialect.ir.clone import clone
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents
from ragged_dialect.passes.differentiate.tables import linearizes, transposes
from ragged_dialect.passes.differentiate.values import zeros_like


@linearizes(
    tensor.CastOp, tensor.ExtractOp, tensor.ExtractSliceOp, tensor.ExpandShapeOp, tensor.CollapseShapeOp,
    tensor.FromElementsOp, tensor.InsertOp, tensor.InsertSliceOp,
)  # fmt: skip
def _(ctx: Tangents, op: Any) -> ir.Value:
    """The same of the tangents; 0 for floats without."""
    known: dict[ir.Value, ir.Value] = {}
    for value in op.operation.operands:
        tangent = ctx.of(value)
        if tangent is not None:
            known[value] = tangent
        elif isinstance(shapes_element(value), ir.FloatType):
            known[value] = zeros_like(value)
    return clone(op.operation, known).result


def shapes_element(value: ir.Value) -> ir.Type:
    """The type of a scalar, or of the elements of a tensor."""
    type_ = value.type
    return type_.element_type if isinstance(type_, ir.RankedTensorType) else type_


@transposes(tensor.CastOp)
def _(ctx: Cotangents, op: Any, cotangent: ir.Value) -> None:
    ctx.add(op.source, shapes.cast(cotangent, op.source.type))


@transposes(tensor.ExtractOp)
def _(ctx: Cotangents, op: Any, cotangent: ir.Value) -> None:
    ctx.add(op.tensor, tensor.insert(cotangent, zeros_like(ctx.like(op.tensor)), op.indices))
