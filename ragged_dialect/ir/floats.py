"""Floats in another precision."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir.match import element_of, with_element


def converted(x: ir.Value, type_: ir.Type) -> ir.Value:
    """A float, or a vector or tensor of floats, in the precision of a type."""
    wanted, got = element_of(type_), element_of(x.type)
    if wanted == got:
        return x
    assert isinstance(wanted, ir.FloatType)
    assert isinstance(got, ir.FloatType)
    if wanted.width == got.width:  # float16 and bfloat16
        return converted(converted(x, ir.F32Type.get()), type_)
    return (arith.extf if wanted.width > got.width else arith.truncf)(with_element(x.type, wanted), x)
