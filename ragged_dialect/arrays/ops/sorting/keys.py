"""Integers in the order of elements."""

from __future__ import annotations

import numpy as np

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.tracing.elements import compare, constant, convert, kind, select
from ragged_dialect.arrays.tracing.trace import element_type

KEYS = {size: np.dtype(f"int{8 * size}") for size in (1, 2, 4, 8)}
"""Integers of as many bytes as elements, which have the order of these."""


def key(value: ir.Value, dtype: DType) -> ir.Value:
    """An integer in the order of elements: of floats the bits, those of negative ones turned round, where 0 has one
    key and nan is the largest."""
    if kind(dtype) == "b":
        return convert(value, dtype, KEYS[1])
    if kind(dtype) != "f":
        return value
    whole = KEYS[dtype.itemsize]
    bits = arith.bitcast(element_type(whole), value)
    most = np.iinfo(whole).max
    sign = arith.shrsi(bits, constant(whole, 8 * dtype.itemsize - 1))
    ordered = arith.xori(bits, arith.andi(sign, constant(whole, most)))
    ordered = select(compare("eq", value, constant(dtype, 0)), constant(whole, 0), ordered)
    return select(compare("ne", value, value), constant(whole, most), ordered)
