"""Rules of upstream tensor ops: linear, and transposed by indices."""

from __future__ import annotations

from math import prod as product

from ragged_dialect._mlir import ir, tensor
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.clone import copy_attributes
from ragged_dialect.passes.differentiate.flow import Cotangents
from ragged_dialect.passes.differentiate.tables import DerivativeFailure, View, transposes
from ragged_dialect.passes.differentiate.values import zeros_like
from ragged_dialect.types import is_ragged


@transposes(tensor.CastOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    ctx.add(op.source, shapes.cast(cotangent, op.source.type))


@transposes(tensor.ExtractOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    like = ctx.like(op.tensor)
    if is_ragged(like.type):
        raise DerivativeFailure(op, f"expected an element of a dense tensor, got {like.type}")
    ctx.add(op.tensor, tensor.insert(cotangent, zeros_like(like), list(op.indices)))


@transposes(tensor.FromElementsOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    shape = list(op.result.type.shape)
    for number, element in enumerate(op.operation.operands):
        if ctx.is_linear(element):
            indices = [build.value(number // product(shape[d + 1 :]) % extent) for d, extent in enumerate(shape)]
            ctx.add(element, tensor.extract(cotangent, indices))


@transposes(tensor.InsertOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    indices = list(op.indices)
    if ctx.is_linear(op.scalar):
        ctx.add(op.scalar, tensor.extract(cotangent, indices))
    if ctx.is_linear(op.dest):
        ctx.add(op.dest, tensor.insert(build.constant(op.scalar.type, 0), cotangent, indices))


# Reshapes and slices ---------------------------------------------------------------------------------


@transposes(tensor.ExpandShapeOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    ctx.add(op.src, tensor.collapse_shape(op.src.type, cotangent, op.operation.attributes["reassociation"]))


@transposes(tensor.CollapseShapeOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    like = ctx.like(op.src)
    groups = op.operation.attributes["reassociation"]
    ctx.add(op.src, tensor.expand_shape(like.type, cotangent, groups, *build.split(shapes.dims(like))))


def _placed(op: ir.Operation, name: str, type_: ir.Type, operands: list[ir.Value], skipped: int) -> ir.Value:
    """An op on the same slice as another one, whose first operands are its own."""
    attributes = copy_attributes(op)
    groups = list(ir.DenseI32ArrayAttr(attributes["operandSegmentSizes"]))
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([*(1 for _ in operands), *groups[skipped:]])
    given = [*operands, *list(op.operands)[skipped:]]
    return ir.Operation.create(name, results=[type_], operands=given, attributes=attributes).result


@transposes(tensor.ExtractSliceOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    like = ctx.like(op.source)
    if is_ragged(like.type):
        raise DerivativeFailure(op, f"expected a slice of a dense tensor, got {like.type}")
    ctx.add(op.source, _placed(op.operation, "tensor.insert_slice", like.type, [cotangent, zeros_like(like)], 1))


@transposes(tensor.InsertSliceOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    source = op.source.type
    if ctx.is_linear(op.source):
        ctx.add(op.source, _placed(op.operation, "tensor.extract_slice", source, [cotangent], 2))
    if ctx.is_linear(op.dest):
        zeros = zeros_like(ctx.like(op.source))
        ctx.add(op.dest, _placed(op.operation, "tensor.insert_slice", cotangent.type, [zeros, cotangent], 2))
