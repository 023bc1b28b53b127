"""Kinds of reductions and scans: what combines two scalars, and what changes nothing."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build
from ragged_dialect.ir.match import bit_width, is_float

_FLOAT = {"sum": "addf", "prod": "mulf", "max": "maximumf", "min": "minimumf"}
_INTEGER = {"sum": "addi", "prod": "muli", "max": "maxsi", "min": "minsi"}
# 1 is -1 as a signed bit: or and and are the maximum and minimum of bools
_BOOL = {"sum": "ori", "prod": "andi", "max": "ori", "min": "andi"}

KINDS = tuple(_FLOAT)


def combiner(kind: str, type_: ir.Type) -> str:
    """The op of arith that combines scalars of a type."""
    table = _FLOAT if is_float(type_) else _BOOL if bit_width(type_) == 1 else _INTEGER
    return f"arith.{table[kind]}"


def combine(kind: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """a combined with b."""
    return ir.Operation.create(combiner(kind, a.type), results=[a.type], operands=[a, b]).result


def neutral(kind: str, type_: ir.Type) -> ir.Value:
    """The value that changes nothing: 0, 1, and the extremes of the type. A sum that starts with it is no -0."""
    if is_float(type_):
        return build.constant(type_, {"sum": 0.0, "prod": 1.0, "max": float("-inf"), "min": float("inf")}[kind])
    if bit_width(type_) == 1:
        return build.constant(type_, {"sum": 0, "prod": 1, "max": 0, "min": 1}[kind])
    low = -(1 << (bit_width(type_) - 1))
    return build.constant(type_, {"sum": 0, "prod": 1, "max": low, "min": -low - 1}[kind])
