"""Rules of linear ops, whose tangents go through the same ones. What changes structures is transposed by such ops."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.generic import without
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.clone import clone
from ragged_dialect.ir.match import defining_op
from ragged_dialect.layout import RAGGED, product
from ragged_dialect.ops.access import AssembleOp, ValuesOp
from ragged_dialect.ops.checks import AnnotateOp, AssumeOp, GuardOp
from ragged_dialect.ops.exchange import AllToAllOp, AllToAllWaitOp
from ragged_dialect.ops.grouping import CompressOp, ScatterAddOp
from ragged_dialect.ops.making import FromPaddedOp, ToPaddedOp
from ragged_dialect.ops.structure import CompactOp, ConcatOp, MergeOp, PartitionOp, SelectOp, SliceOp, SplitOp
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents
from ragged_dialect.passes.differentiate.nests import Access, mapped
from ragged_dialect.passes.differentiate.scatter import flat, windows_added
from ragged_dialect.passes.differentiate.tables import DerivativeFailure, View, has_derivative, linearizes, transposes
from ragged_dialect.passes.differentiate.values import zeros_like
from ragged_dialect.passes.differentiate.views import fitted, reassembled, storage_of, without_gaps
from ragged_dialect.traits import int_attr
from ragged_dialect.types import dense_type, shape_of


@linearizes(
    AllToAllOp, PartitionOp, MergeOp, SplitOp, SelectOp, SliceOp, ConcatOp, CompactOp, AssembleOp, AssumeOp, AnnotateOp,
    ToPaddedOp, FromPaddedOp, CompressOp, ScatterAddOp, arith.NegFOp,
    tensor.CastOp, tensor.ExtractOp, tensor.ExtractSliceOp, tensor.ExpandShapeOp, tensor.CollapseShapeOp,
    tensor.FromElementsOp, tensor.InsertOp, tensor.InsertSliceOp,
)  # fmt: skip
def _(ctx: Tangents, op: View) -> ir.Value:
    """The same of the tangents; 0 for floats without."""
    known: dict[ir.Value, ir.Value] = {}
    for value in op.operation.operands:
        tangent = ctx.of(value)
        if tangent is not None:
            known[value] = tangent
        elif has_derivative(value):
            known[value] = zeros_like(value)
    return clone(op.operation, known).result


@linearizes(AllToAllWaitOp)
def _(ctx: Tangents, op: View) -> ir.Value:
    """Tangents are exchanged by themselves, where the elements are waited for."""
    return builders.all_to_all(ctx.given(op.x))


@linearizes(GuardOp)
def _(ctx: Tangents, op: View) -> ir.Value | None:
    """What is computed of the result is held back, tangents too."""
    return ctx.of(op.x)


@linearizes(ValuesOp)
def _(ctx: Tangents, op: View) -> ir.Value:
    made = _of_storage(ctx, op.x)
    if made is None:
        raise DerivativeFailure(op, f"expected values without windows, got {op.x.type} (use ragged.compact)")
    return shapes.cast(made, op.operation.result.type)


def _of_storage(ctx: Tangents, x: ir.Value) -> ir.Value | None:
    """The tangent of a value's storage: of windows that of what they are a view of, as theirs shows no other elements.
    None for windows of unknown storage."""
    if not shape_of(x.type).layout.has_windows:
        return builders.values(ctx.given(x))
    op = defining_op(x)
    if op is not None and op.name == AssembleOp.OPERATION_NAME:
        return ctx.given(op.operands[0])
    if op is None or op.name not in (SelectOp.OPERATION_NAME, SliceOp.OPERATION_NAME):
        return None
    source, *bounds = op.operands
    layout = shape_of(source.type).layout
    axis, at = layout.locate(int_attr(op, "dim"))
    made, selects = _of_storage(ctx, source), op.name == SelectOp.OPERATION_NAME
    if made is not None and layout.axes[axis] == "d":
        return builders.select(made, bounds[0], axis) if selects else builders.slice(made, bounds[0], bounds[1], axis)
    copies = selects and at == len(layout.axes[axis]) - 1
    return made if "w" in shape_of(op.results[0].type).layout.axes[axis] and not copies else None


@transposes(AssumeOp, AnnotateOp, GuardOp, CompactOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    ctx.add(op.x, fitted(cotangent, ctx.like(op.x)))


# Views: the storage is the same ---------------------------------------------------------------------


@transposes(PartitionOp, MergeOp, SplitOp, ValuesOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    """The view back; where it joins two axes of the storage, they are parted again."""
    like = ctx.like(op.x)
    storage = storage_of(cotangent)
    own = shape_of(like.type).layout
    if own.storage_rank != len(storage.type.shape):
        dim = int_attr(op, "dim")
        axis, _ = own.locate(dim if op.operation.name == MergeOp.OPERATION_NAME else dim - 1)
        storage = _parted(storage, axis, like)
    ctx.add(op.x, reassembled(storage, like))


def _parted(storage: ir.Value, axis: int, like: ir.Value) -> ir.Value:
    """Storage with an axis as two, of which the second has the extent it has in a tensor."""
    whole = storage_of(like)
    shape = shape_of(whole.type).shape
    joined = (*shape[:axis], product(shape[axis : axis + 2]), *shape[axis + 2 :])
    storage = shapes.cast(storage, dense_type(joined, whole.type.element_type))  # as static as its parts
    groups = shapes.grouped(len(shape), axis, axis + 2)
    return tensor.expand_shape(whole.type, storage, groups, *build.split(shapes.dims(whole)))


@transposes(AssembleOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    """The storage; elements that are in no window get 0, those in several the sum."""
    values = op.operation.operands[0]
    like = ctx.like(values)
    if shape_of(cotangent.type).layout.has_windows:
        ctx.add(values, windows_added(cotangent, clone(op.operation, {values: like}).result, like))
    else:
        ctx.add(values, shapes.cast(storage_of(cotangent), like.type))


@transposes(AllToAllOp, AllToAllWaitOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    """What came from a rank goes back to it."""
    ctx.add(op.x, reassembled(storage_of(builders.all_to_all(cotangent)), ctx.like(op.x)))


# Parts and wholes -----------------------------------------------------------------------------------


@transposes(SliceOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    like = ctx.like(op.x)
    ctx.add(op.x, padded(cotangent, like, op.lo, op.hi, int_attr(op, "dim")))


def padded(x: ir.Value, like: ir.Value, low: ir.Value, high: ir.Value, dim: int) -> ir.Value:
    """A tensor like another: a part of it at the range [low, high) of a dim, and zeros around it. Without gaps, as
    components below windows have no bounds of their own."""
    zeros = zeros_like(without_gaps(like))
    ragged = shape_of(like.type).layout.letter(dim) in RAGGED
    end = builders.lengths(zeros, dim) if ragged else tensor.dim(like, build.value(dim))
    before = builders.slice(zeros, build.value(0), low, dim)
    return fitted(builders.concat([before, x, builders.slice(zeros, high, end, dim)], dim), like)


@transposes(SelectOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    """A slice of one."""
    like, dim = ctx.like(op.x), int_attr(op, "dim")
    low = build.to_index(op.index)
    high = build.add(low, 1)
    one = builders.slice(without_gaps(like), low, high, dim)
    shape = shape_of(one.type)
    if shape.layout.is_plain(dim):
        rank = shape.rank
        out = Access(one, ir.AffineMap.get_identity(rank))
        part = mapped([Access(cotangent, without(rank, dim))], out, ["parallel"] * rank, lambda e: e[0])
    else:
        axis, _ = shape.layout.locate(dim)
        part = reassembled(flat(storage_of(cotangent), len(shape.layout.axes) - axis - 1, axis), one)
    ctx.add(op.x, padded(part, like, low, high, dim))


@transposes(ConcatOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    """Every operand has its range."""
    dim = int_attr(op, "dim")
    low: ir.Value = build.value(0)
    for x in op.operation.operands:
        like = ctx.like(x)
        if shape_of(like.type).layout.letter(dim) in RAGGED:
            extent = builders.lengths(like, dim)
            high = extent if low.type == build.index_type() else arith.addi(low, extent)
        else:
            high = build.value(build.add(low, shapes.dim(like, dim)))
        ctx.add(x, fitted(builders.slice(cotangent, low, high, dim), like))
        low = high
