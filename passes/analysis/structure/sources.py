"""Ops that read structure alone, and where they read it."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import made_by
from ragged_dialect.passes.analysis.structure.keys import structural_source
from ragged_dialect.segments import segments
from ragged_dialect.tensor_rules import is_said_to_user
from ragged_dialect.types import is_ragged, shape_of

STRUCTURAL = frozenset(f"ragged.{name}" for name in ("assert_conform", "empty", "lengths", "max_length", "total")) | {
    "tensor.dim"
}
"""Ops that read of an operand nothing but its structure."""


def use_source(op: ir.Operation, sources: dict[ir.Value, ir.Value]) -> None:
    """Let an op that reads structure alone read it where it comes from."""
    if op.name not in STRUCTURAL or "stored" in op.attributes or is_said_to_user(op):
        return
    stored = made_by(op.operands[0], "ragged.values") if op.name == "tensor.dim" else None
    if stored is not None and set(shape_of(stored.operands[0].type).layout.letters) <= {*"dr"}:
        source = structural_source(stored.operands[0], sources)
        if source != stored.operands[0]:
            with ir.InsertionPoint(op), op.location:
                op.operands[0] = builders.values(source)
    for number, value in enumerate(op.operands):
        if is_ragged(value.type):
            op.operands[number] = structural_source(value, sources)
    if op.name == "ragged.empty":
        sizes = segments([v.type for v in op.operands])
        op.attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(sizes)
