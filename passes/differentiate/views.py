"""Values in the structure of others: what transposes ops that only say how storage is nested."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir, tensor
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.types import is_ragged, shape_of


def without_gaps(x: ir.Value) -> ir.Value:
    """A tensor whose storage has its elements only, in order: of windows a copy."""
    return builders.compact(x) if shape_of(x.type).layout.has_windows else x


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
            lengths = builders.lengths(whole, part.dim, stored=True)
            if part.kind == "starts":  # windows that follow one another without gaps
                lengths = vectors.section(vectors.scan(lengths), 0, shapes.dim(lengths, 0))
            parts.append(lengths)
    return builders.assemble(parts, shape.layout, shape.shape)


def fitted(x: ir.Value, like: ir.Value) -> ir.Value:
    """A tensor with the type of another that has the same lengths: windows or none, static extents or not."""
    if x.type == like.type:
        return x
    own, wanted = shape_of(x.type).layout, shape_of(like.type).layout
    if own != wanted:
        x = reassembled(storage_of(x), like) if wanted.has_windows else builders.compact(x)
    return shapes.cast(x, like.type)
