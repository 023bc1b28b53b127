"""Values in the structure of others: what transposes ops that only say how storage is nested."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir, tensor
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.match import definer, made_by
from ragged_dialect.ops.access import AssembleOp, LengthsOp, StartsOp
from ragged_dialect.traits import int_attr
from ragged_dialect.types import is_ragged, shape_of


def without_gaps(x: ir.Value) -> ir.Value:
    """A tensor whose storage has its elements only, in order: of windows a copy, but for what was `reassembled`."""
    if not shape_of(x.type).layout.has_windows:
        return x
    whole = _structure_of(x)
    return builders.compact(x) if whole is None else reassembled(definer(x).operands[0], whole)


def _structure_of(x: ir.Value) -> ir.Value | None:
    """The value without windows whose starts and lengths are all those of windows; None for others."""
    made, kinds = made_by(x, AssembleOp.OPERATION_NAME), {"starts": StartsOp, "lengths": LengthsOp}
    if made is None:
        return None
    found: set[ir.Value | None] = set()
    for part, value in zip(shape_of(x.type).parts(), made.operands, strict=True):
        if part.kind in kinds:
            op = made_by(value, kinds[part.kind].OPERATION_NAME)
            found.add(op.operands[0] if op is not None and int_attr(op, "level") == part.dim else None)
    (whole,) = found if len(found) == 1 else (None,)
    return None if whole is None or shape_of(whole.type).layout.has_windows else whole


def storage_of(x: ir.Value) -> ir.Value:
    """The elements of a tensor without gaps, in order."""
    return builders.values(without_gaps(x)) if is_ragged(x.type) else x


def reassembled(storage: ir.Value, like: ir.Value) -> ir.Value:
    """A tensor of the structure and the type of another, with other storage: its elements without gaps, in order."""
    if not is_ragged(like.type):
        return shapes.cast(storage, like.type)
    shape = shape_of(like.type)
    whole = without_gaps(like)
    parts: list[ir.Value] = []
    for part in shape.parts():
        if part.kind == "values":
            parts.append(shapes.cast(storage, builders.values(like).type))
        elif part.kind == "offsets":
            parts.append(builders.offsets(whole, part.dim))
        elif part.kind == "extent":
            parts.append(tensor.dim(like, build.value(part.dim)))
        else:
            starts = part.kind == "starts"  # of windows that follow one another without gaps
            parts.append(builders.starts(whole, part.dim) if starts else builders.lengths(whole, part.dim, stored=True))
    return builders.assemble(parts, shape.layout, shape.shape)


def fitted(x: ir.Value, like: ir.Value) -> ir.Value:
    """A tensor with the type of another that has the same lengths: windows or none, static extents or not."""
    if x.type == like.type:
        return x
    own, wanted = shape_of(x.type).layout, shape_of(like.type).layout
    if own != wanted:
        x = reassembled(storage_of(x), like) if wanted.has_windows else builders.compact(x)
    return shapes.cast(x, like.type)
