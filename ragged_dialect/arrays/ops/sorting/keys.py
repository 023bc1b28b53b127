"""Integers in the order of elements."""

from __future__ import annotations

import numpy as np

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.tracing.elements import compare, constant, convert, kind, select
from ragged_dialect.arrays.tracing.trace import element_type

KEYS = {size: np.dtype(f"int{8 * size}") for size in (1, 2, 4, 8)}
"""Integers of as many bytes as elements, which have the order of these."""

PLACE = 32
"""Bits of a place that a key is in front of."""


def key(value: ir.Value, dtype: DType, zeros: int = 1) -> ir.Value:
    """An integer in the order of elements: of floats the bits, those of negative ones turned round, where nan is the
    largest, and 0 has one key, or with two `zeros` -0.0 one of its own before it."""
    if kind(dtype) == "b":
        return convert(value, dtype, KEYS[1])
    if kind(dtype) != "f":
        return value
    whole = KEYS[dtype.itemsize]
    ordered = _turned(arith.bitcast(element_type(whole), value), whole)
    if zeros == 1:
        ordered = select(compare("eq", value, constant(dtype, 0)), constant(whole, 0), ordered)
    return select(compare("ne", value, value), constant(whole, np.iinfo(whole).max), ordered)


def element(made: ir.Value, dtype: DType) -> ir.Value:
    """The element that has a key, where there are two zeros; of the largest one a nan."""
    if kind(dtype) == "b":
        return convert(made, KEYS[1], dtype)
    if kind(dtype) != "f":
        return made
    whole = KEYS[dtype.itemsize]
    return arith.bitcast(element_type(dtype), _turned(made, whole))


def directed(made: ir.Value, dtype: DType, descending: bool) -> ir.Value:
    """A key for an order, and back: all bits turned round where it descends."""
    return arith.xori(made, constant(dtype, -1)) if descending else made


def _turned(bits: ir.Value, whole: DType) -> ir.Value:
    """Bits of floats as integers in their order, and back: those of negative ones but for the sign turned round."""
    sign = arith.shrsi(bits, constant(whole, 8 * whole.itemsize - 1))
    return arith.xori(bits, arith.andi(sign, constant(whole, np.iinfo(whole).max)))
