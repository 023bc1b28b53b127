"""Rounding that no processor does in one step."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir.walk import find_ops


def round_in_steps(module: ir.Operation) -> None:
    """Let every `arith.truncf` from f64 to bf16 go by way of f32, as NumPy's bfloat16 does."""
    for op in filter(_is_far, find_ops(module, "arith.truncf")):
        with ir.InsertionPoint(op), op.location:
            rounded = arith.truncf(op.results[0].type, arith.truncf(_between(op.operands[0].type), op.operands[0]))
        op.results[0].replace_all_uses_with(rounded)
        op.erase()


def _element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.RankedTensorType) else type_


def _is_far(op: ir.Operation) -> bool:
    source, target = _element(op.operands[0].type), _element(op.results[0].type)
    return isinstance(source, ir.F64Type) and isinstance(target, ir.BF16Type)


def _between(type_: ir.Type) -> ir.Type:
    f32 = ir.F32Type.get()
    return ir.RankedTensorType.get(type_.shape, f32, type_.encoding) if isinstance(type_, ir.RankedTensorType) else f32
