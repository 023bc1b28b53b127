"""The known reductions: combining two scalars, neutral elements."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build
from ragged_dialect.ir.match import bit_width

_FLOAT = {"sum": "addf", "prod": "mulf", "max": "maximumf", "min": "minimumf"}
_INTEGER = {"sum": "addi", "prod": "muli", "max": "maxsi", "min": "minsi"}

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


def is_float(type_: ir.Type) -> bool:
    """Whether a scalar type is a float."""
    return isinstance(type_, (ir.F16Type, ir.BF16Type, ir.F32Type, ir.F64Type))


def combine(kind: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """a combined with b."""
    table = _FLOAT if is_float(a.type) else _INTEGER
    if isinstance(a.type, ir.IntegerType) and a.type.width == 1:
        # 1 is -1 as a signed bit: or and and are the maximum and minimum of bools
        table = {**_INTEGER, "max": "ori", "min": "andi", "sum": "ori", "prod": "andi"}
    return getattr(arith, table[kind])(a, b)


def neutral(kind: str, type_: ir.Type) -> ir.Value:
    """The value that changes nothing: 0, 1, and the extremes of the type."""
    if is_float(type_):
        return build.constant(type_, {"sum": 0.0, "prod": 1.0, "max": float("-inf"), "min": float("inf")}[kind])
    if bit_width(type_) == 1:
        return build.constant(type_, {"sum": 0, "prod": 1, "max": 0, "min": 1}[kind])
    low = -(1 << (bit_width(type_) - 1))
    return build.constant(type_, {"sum": 0, "prod": 1, "max": low, "min": -low - 1}[kind])


def neutral_constant(type_: ir.Type, neutral: float | str) -> ir.Value:
    """A neutral element: a number, or the lowest, highest or all-ones value of an integer type."""
    if not isinstance(neutral, str):
        return build.constant(type_, neutral)
    width = 64 if isinstance(type_, ir.IndexType) else bit_width(type_)
    low = -(1 << (width - 1))
    return build.constant(type_, {"lowest": low, "highest": -low - 1, "ones": -1}[neutral])
