"""Static extents travel down: an op reads the value before a cast that only forgets extents, and
has the most static result type that its operands allow."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir.match import attribute_names, made_by
from ragged_dialect.ops import INFERRED
from ragged_dialect.ops.base import attributes_for, infer_shape
from ragged_dialect.passes.patterns.matching import same_meaning, shape
from ragged_dialect.passes.patterns.rewriting import Pattern, Rewriter
from ragged_dialect.segments import segments
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import is_tensor, tensor_type

_ACCESS = ("offsets", "starts", "lengths", "row_ids", "total", "max_length")


def refine(op: ir.Operation, rewriter: Rewriter) -> bool:
    """op(cast(x)) : T -> cast(op(x) : T'), where T' is at least as static as T."""
    operands = list(op.operands)
    past = [_past_casts(v) for v in operands]
    declared = op.results[0].type
    wanted = declared
    try:
        kind = INFERRED.get(op.name)
        if kind is not None:
            wanted = _joined(op, infer_shape(kind, past, attributes_for(kind, op), shape), declared)
        if wanted is None or (wanted == declared and past == operands):
            return False
        segments([v.type for v in past])
    except LayoutError:
        return False
    attributes = {a: op.attributes[a] for a in attribute_names(op) if a != "operandSegmentSizes"}
    with rewriter.before(op):
        return rewriter.replace(op, builders.create(op.name, [wanted], past, attributes).result)


def _joined(op: ir.Operation, inferred: RaggedShape, declared: ir.RankedTensorType) -> ir.RankedTensorType | None:
    """The declared type with the static extents of the inferred shape; None when they disagree."""
    known = shape(op.results[0])
    if not same_meaning(inferred, known):
        return None
    if inferred == known:
        return declared
    extents = tuple(a if a is not None else b for a, b in zip(inferred.shape, known.shape, strict=True))
    return tensor_type(RaggedShape(known.layout, extents), declared.element_type)


def _past_casts(value: ir.Value) -> ir.Value:
    while (cast := made_by(value, "tensor.cast")) is not None:
        source = cast.operands[0]
        if not is_tensor(source.type) or not _forgets(shape(source), shape(value)):
            break
        value = source
    return value


def _forgets(before: RaggedShape, after: RaggedShape) -> bool:
    """Whether every static extent after a cast is there before it."""
    return before.layout == after.layout and all(
        b is None or a == b for a, b in zip(before.shape, after.shape, strict=True)
    )


PATTERNS: dict[str, tuple[Pattern, ...]] = {
    **{f"ragged.{name}": (refine,) for name in _ACCESS},
}
