"""Kinds of reductions and scans, and ops that combine two scalars: what changes nothing."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build
from ragged_dialect.ir.match import bit_width, is_float

_FLOAT = {"sum": "addf", "prod": "mulf", "max": "maximumf", "min": "minimumf"}
_INTEGER = {"sum": "addi", "prod": "muli", "max": "maxsi", "min": "minsi"}
# 1 is -1 as a signed bit: or and and are the maximum and minimum of bools
_BOOL = {"sum": "ori", "prod": "andi", "max": "ori", "min": "andi"}

KINDS = tuple(_FLOAT)

NEUTRAL: dict[str, float | str] = {
    "arith.addf": -0.0,
    "arith.mulf": 1.0,
    "arith.maximumf": float("-inf"),
    "arith.maxnumf": float("nan"),
    "arith.minimumf": float("inf"),
    "arith.minnumf": float("nan"),
    "arith.addi": 0,
    "arith.muli": 1,
    "arith.maxsi": "lowest",
    "arith.minsi": "highest",
    "arith.maxui": 0,
    "arith.minui": "ones",
    "arith.andi": "ones",
    "arith.ori": 0,
    "arith.xori": 0,
}
"""Ops that combine two scalars in any grouping, with what changes nothing: see `neutral_constant`."""


def combiner(kind: str, type_: ir.Type) -> str:
    """The op of arith that combines scalars of a type."""
    table = _FLOAT if is_float(type_) else _BOOL if bit_width(type_) == 1 else _INTEGER
    return f"arith.{table[kind]}"


def combine(kind: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """a combined with b."""
    return ir.Operation.create(combiner(kind, a.type), results=[a.type], operands=[a, b]).result


def neutral(kind: str, type_: ir.Type) -> ir.Value:
    """The value that changes nothing: 0, 1, and the extremes of the type. A sum that starts with it is no -0."""
    op = combiner(kind, type_)
    return build.constant(type_, 0.0) if op == "arith.addf" else neutral_constant(type_, NEUTRAL[op])


def neutral_constant(type_: ir.Type, neutral: float | str) -> ir.Value:
    """A neutral element: a number, or the lowest, highest or all-ones value of an integer type."""
    if not isinstance(neutral, str):
        return build.constant(type_, neutral)
    low = -(1 << (bit_width(type_) - 1))
    return build.constant(type_, {"lowest": low, "highest": -low - 1, "ones": -1}[neutral])
