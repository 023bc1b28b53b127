"""Rules of the ops between ragged and padded tensors, and of reductions over components."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.clone import clone
from ragged_dialect.layout import RAGGED
from ragged_dialect.ops.access import (
    LengthsOp,
    MaxLengthOp,
    OffsetsOp,
    PrintOp,
    RowIdsOp,
    StartsOp,
    TotalOp,
)  # fmt: skip
from ragged_dialect.ops.checks import AssertConformOp, AssertValidOp
from ragged_dialect.ops.exchange import AllToAllStartOp
from ragged_dialect.ops.grouping import CompressOp, GroupByOp, ScatterAddOp, SortOp
from ragged_dialect.ops.making import EmptyOp, FromPaddedOp, ReduceAcrossOp, ToPaddedOp
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents
from ragged_dialect.passes.differentiate.nests import Access, computed, mapped, spread
from ragged_dialect.passes.differentiate.tables import DerivativeFailure, View, constant, linearizes, transposes
from ragged_dialect.passes.differentiate.values import empty_like, zeros_like
from ragged_dialect.traits import int_attr, string_attr
from ragged_dialect.types import shape_of

constant("gives indices", OffsetsOp, StartsOp, LengthsOp, RowIdsOp, TotalOp, MaxLengthOp, AllToAllStartOp)
constant("gives integers", GroupByOp, SortOp)
constant("is uninitialised", EmptyOp, "tensor.empty")
constant("gives nothing", PrintOp, AssertValidOp, AssertConformOp)
constant("gives indices", "tensor.dim")


@transposes(ToPaddedOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    """What was padded is not the elements', what was truncated gets 0; the pad has what is left."""
    x, pad = list(op.operation.operands)[:2]
    like = ctx.like(x)
    if ctx.is_linear(x):
        ctx.add(x, _unpadded(cotangent, like, "truncate" in op.operation.attributes))
    if ctx.is_linear(pad):
        ctx.add(pad, _outside(op.operation, cotangent, like))


def _unpadded(cotangent: ir.Value, like: ir.Value, truncates: bool) -> ir.Value:
    """An element of the padded tensor for each that is in it, by index; 0 for others, which are truncated: they read
    what is put behind the end of every ragged dim. A branch would have no derivative by what it reads."""
    shape = shape_of(like.type)
    ragged = [dim for dim, letter in enumerate(shape.layout.letters) if letter in RAGGED and truncates]
    sizes = shapes.dims(cotangent)
    if truncates:
        more = [build.add(size, 1) if dim in ragged else size for dim, size in enumerate(sizes)]
        element = cotangent.type.element_type
        zeros = shapes.fill(build.constant(element, 0), shapes.empty(more, element))
        cotangent = shapes.insert_slice(cotangent, zeros, [0] * shape.rank, sizes)

    def body(_: list[ir.Value]) -> ir.Value:
        indices = [loop_index(dim) for dim in range(shape.rank)]
        return tensor.extract(
            cotangent, [build.minimum(i, sizes[dim]) if dim in ragged else i for dim, i in enumerate(indices)]
        )

    out = Access(like, ir.AffineMap.get_identity(shape.rank))
    return mapped([], out, ["parallel"] * shape.rank, body)


def _outside(op: ir.Operation, cotangent: ir.Value, like: ir.Value) -> ir.Value:
    """The sum over the elements that hold the pad: those where zeros padded with ones are 1."""
    x, pad = list(op.operands)[:2]
    one = build.constant(pad.type, 1)
    mask = clone(op, {x: zeros_like(like), pad: one}).result
    rank = len(cotangent.type.shape)
    whole = ir.AffineMap.get_identity(rank)
    out = Access(shapes.empty([], pad.type), ir.AffineMap.get(rank, 0, []))
    ins = [Access(cotangent, whole), Access(mask, whole)]
    total = computed(ins, out, ["reduction"] * rank, lambda e: arith.addf(e[2], arith.mulf(e[0], e[1])), zeros_like)
    return tensor.extract(total, [])


@transposes(FromPaddedOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    dense = op.operation.operands[0]
    like = ctx.like(dense)
    letters = shape_of(cotangent.type).layout.letters
    maxima = [build.value(shapes.dim(like, dim)) for dim, letter in enumerate(letters) if letter in RAGGED]
    made = builders.to_padded(cotangent, build.constant(like.type.element_type, 0), maxima)
    ctx.add(dense, shapes.cast(made, like.type))


@transposes(CompressOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    """Rows that are kept have the cotangents of the result's, the others 0."""
    like = ctx.like(op.x)
    made = builders.scatter_add(cotangent, builders.compress(op.mask), build.value(shapes.dim(like, 0)))
    ctx.add(op.x, shapes.cast(made, like.type))


@transposes(ScatterAddOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    """Every term has the cotangent of the row that it was added to."""
    like, positions = ctx.like(op.terms), op.positions
    rank, last = len(like.type.shape), positions.type.rank
    loops = [ir.AffineDimExpr.get(k) for k in range(rank)]

    def body(given: list[ir.Value]) -> ir.Value:
        component, row = [loop_index(k) for k in range(last - 1)], [loop_index(k) for k in range(last, rank)]
        return tensor.extract(cotangent, [*component, build.to_index(given[0]), *row])

    own = Access(positions, ir.AffineMap.get(rank, 0, loops[:last]))
    out = Access(like, ir.AffineMap.get_identity(rank))
    ctx.add(op.terms, mapped([own], out, ["parallel"] * rank, body))


# Over components -----------------------------------------------------------------------------------


@linearizes(ReduceAcrossOp)
def _(ctx: Tangents, op: View) -> ir.Value:
    tangent, kind, dim = ctx.given(op.x), string_attr(op, "kind"), int_attr(op, "dim")
    if kind == "prod":
        raise DerivativeFailure(op, f"expected '{op.operation.name}' of kind sum, max or min, got prod")
    if kind != "sum":
        tangent = _first_across(op, tangent, dim)
    return shapes.cast(builders.reduce_across(tangent, op.max, dim, "sum"), op.result.type)


def _first_across(op: View, tangent: ir.Value, dim: int) -> ir.Value:
    """The tangents of the elements that are the first component's that have the result; 0 for others."""
    shape = shape_of(op.x.type)
    axis, _ = shape.layout.locate(dim)
    dims = shape.layout.dims(axis)
    if len(dims) != 2:
        raise DerivativeFailure(op, f'expected one batch dim above dim {dim}, got layout "{shape.layout}"')
    whole = ir.AffineMap.get_identity(shape.rank)
    below = ir.AffineMap.get(shape.rank, 0, [ir.AffineDimExpr.get(d) for d in range(shape.rank) if d != dims[0]])
    kinds = ["parallel"] * shape.rank
    x, result = Access(op.x, whole), Access(op.result, below)

    def place(given: list[ir.Value]) -> ir.Value:
        here = build.to_i64(loop_index(dims[0]))
        same = arith.cmpf(arith.CmpFPredicate.OEQ, given[0], given[1])
        return arith.select(same, here, build.constant(build.i64(), 2**63 - 1))

    places = mapped([x, result], Access(empty_like(op.x, build.i64()), whole), kinds, place)
    first = Access(builders.reduce_across(places, op.max, dim, "min"), below)
    return spread(Access(tangent, whole), first, x, dims[0])


@transposes(ReduceAcrossOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    """Of a sum: every element has that of its row."""
    like, dim = ctx.like(op.x), int_attr(op, "dim")
    shape = shape_of(like.type)
    axis, _ = shape.layout.locate(dim)
    above = [d for d in shape.layout.dims(axis) if d != dim]
    rank = shape.rank
    source = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(d) for d in range(rank) if d not in above])
    whole = Access(like, ir.AffineMap.get_identity(rank))
    ctx.add(op.x, mapped([whole, Access(cotangent, source)], whole, ["parallel"] * rank, lambda e: e[1]))
