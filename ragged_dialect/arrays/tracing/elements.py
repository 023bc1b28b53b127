"""Scalar IR: constants, conversions between dtypes, comparisons and arithmetic by kind of number."""

from __future__ import annotations

import numpy as np

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.tracing.trace import element_type
from ragged_dialect.ir import build
from ragged_dialect.ir.floats import converted

BOOL, INT32, INT64, SINGLE = (np.dtype(name) for name in ("bool", "int32", "int64", "float32"))


def kind(dtype: DType) -> str:
    """`b`, `i` or `f`."""
    return {"b": "b", "i": "i", "f": "f", "V": "f"}[dtype.kind]


def constant(dtype: DType, number: float) -> ir.Value:
    """A scalar constant; of booleans any number but 0 is true."""
    return build.constant(element_type(dtype), bool(number) if dtype == BOOL else number)


def create(name: str, *operands: ir.Value, result: ir.Type | None = None) -> ir.Value:
    """An op of one result, by default of the type of the first operand."""
    made = ir.Operation.create(name, results=[operands[0].type if result is None else result], operands=list(operands))
    return made.result


def compare(predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """A comparison: `lt`, `le`, `gt`, `ge`, `eq`, `ne`; of floats ordered, but for `ne`."""
    if isinstance(a.type, (ir.IntegerType, ir.IndexType)):
        signed = predicate if predicate in ("eq", "ne") else f"s{predicate}"
        if isinstance(a.type, ir.IntegerType) and a.type.width == 1 and predicate not in ("eq", "ne"):
            signed = f"u{predicate}"
        return arith.cmpi(_INTEGER[signed], a, b)
    return arith.cmpf(_FLOAT["une" if predicate == "ne" else f"o{predicate}"], a, b)


_INTEGER = {name: number for number, name in enumerate("eq ne slt sle sgt sge ult ule ugt uge".split())}
_FLOAT = {
    name: number
    for number, name in enumerate("false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split())
}


def select(condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    """`a` where the condition holds, else `b`."""
    return arith.select(condition, a, b)


def negated(condition: ir.Value) -> ir.Value:
    """The opposite of a boolean."""
    return arith.xori(condition, constant(BOOL, 1))


def convert(x: ir.Value, source: DType, target: DType) -> ir.Value:
    """A scalar in another dtype, as NumPy converts."""
    if source == target:
        return x
    a, b = kind(source), kind(target)
    type_ = element_type(target)
    if b == "b":
        return compare("ne", x, constant(source, 0))
    if a == "f" and b == "f":
        return converted(x, type_)
    if a == "f":
        return _float_to_integer(x, source, target)
    if b == "f":
        return arith.uitofp(type_, x) if a == "b" else arith.sitofp(type_, x)
    if a == "b":
        return arith.extui(type_, x)
    return (arith.extsi if target.itemsize > source.itemsize else arith.trunci)(type_, x)


def _float_to_integer(x: ir.Value, source: DType, target: DType) -> ir.Value:
    """As NumPy on x86: what is out of range of int32, for int64 of that, and nan give its least number, which shorter
    integers have the last bits of. `arith.fptosi` alone is undefined there, and differs from target to target."""
    if source.itemsize < SINGLE.itemsize:  # the bound is above all of float16
        return _float_to_integer(convert(x, source, SINGLE), SINGLE, target)
    wide = max(target, INT32, key=lambda d: d.itemsize)
    bound = 2.0 ** (8 * wide.itemsize - 1)
    inside = compare("lt", create("math.absf", x), constant(source, bound))
    whole = arith.fptosi(element_type(wide), select(inside, x, constant(source, -bound)))
    return convert(whole, wide, target)


def infinity(dtype: DType, sign: int) -> ir.Value:
    """The least or greatest number of a dtype: infinite for floats."""
    if kind(dtype) == "f":
        return constant(dtype, sign * float("inf"))
    if kind(dtype) == "b":
        return constant(dtype, int(sign > 0))
    info = np.iinfo(dtype)
    return constant(dtype, info.max if sign > 0 else info.min)
