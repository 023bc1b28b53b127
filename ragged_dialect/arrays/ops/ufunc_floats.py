"""Bodies of ufuncs that are small formulas of floats."""

from __future__ import annotations

import math

import numpy as np

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.ops.ufunc_bodies import Body, Loop, in_single, register
from ragged_dialect.arrays.tracing.elements import compare, constant, convert, create, infinity, select
from ragged_dialect.arrays.tracing.trace import element_type

BODIES: dict[str, Body] = {}
"""Bodies by the ufunc's name."""


@register(BODIES, "power")
def power(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """a to the b; integers to a negative power give what 1 / a would, without the remainder."""
    return create("math.powf", a, b) if loop.is_float else create("math.ipowi", a, b)


@register(BODIES, "ldexp")
@in_single
def ldexp(loop: Loop, x: ir.Value, exponent: ir.Value) -> ir.Value:
    """x times 2 to the exponent, rounded once: in three steps by powers that are normal numbers. One that is followed
    by another leaves room for the mantissa, so that what it rounds becomes 0 anyway."""
    info, bits = np.finfo(loop.dtype), np.dtype(f"i{loop.dtype.itemsize}")
    given, mantissa, bias = np.dtype(f"i{exponent.type.width // 8}"), int(info.nmant), int(info.maxexp) - 1
    least, most = constant(given, int(info.minexp)), constant(given, bias)
    roomy = constant(given, int(info.minexp) + mantissa + 1)
    for last in (False, False, True):
        low = least if last else select(compare("lt", exponent, least), roomy, least)
        step = arith.minsi(most, arith.maxsi(low, exponent))
        exponent = arith.subi(exponent, step)
        raw = arith.shli(arith.addi(convert(step, given, bits), constant(bits, bias)), constant(bits, mantissa))
        x = arith.mulf(x, arith.bitcast(element_type(loop.dtype), raw))
    return x


@register(BODIES, "heaviside")
def heaviside(loop: Loop, x: ir.Value, at_zero: ir.Value) -> ir.Value:
    """0 below 0, 1 above, `at_zero` at 0."""
    zero = loop.number(0)
    found = select(compare("eq", x, zero), at_zero, select(compare("lt", x, zero), zero, loop.number(1)))
    return select(compare("ne", x, x), x, found)


@register(BODIES, "hypot")
@in_single
def hypot(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """The root of a² + b², without overflow on the way."""
    a, b = create("math.absf", a), create("math.absf", b)
    high, low = arith.maximumf(a, b), arith.minimumf(a, b)
    ratio = arith.divf(low, high)
    root = arith.mulf(high, create("math.sqrt", arith.addf(loop.number(1), arith.mulf(ratio, ratio))))
    found = select(compare("eq", high, loop.number(0)), high, root)
    infinite = arith.ori(compare("eq", a, infinity(loop.dtype, 1)), compare("eq", b, infinity(loop.dtype, 1)))
    return select(infinite, infinity(loop.dtype, 1), found)


def _add_exponentials(loop: Loop, a: ir.Value, b: ir.Value, exp: str, scale: float) -> ir.Value:
    high = arith.maximumf(a, b)
    below = arith.negf(create("math.absf", arith.subf(a, b)))
    added = create("math.log1p", create(exp, below))
    found = arith.addf(high, arith.mulf(added, loop.number(scale)) if scale != 1 else added)
    return select(compare("eq", a, b), arith.addf(a, loop.number(math.log(2) * scale)), found)


@register(BODIES, "logaddexp")
@in_single
def logaddexp(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """log(exp(a) + exp(b))."""
    return _add_exponentials(loop, a, b, "math.exp", 1)


@register(BODIES, "logaddexp2")
@in_single
def logaddexp2(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """log2(2**a + 2**b)."""
    return _add_exponentials(loop, a, b, "math.exp2", 1 / math.log(2))


@register(BODIES, "deg2rad", "radians")
def radians(loop: Loop, x: ir.Value) -> ir.Value:
    """Degrees to radians."""
    return arith.mulf(x, loop.number(math.pi / 180))


@register(BODIES, "rad2deg", "degrees")
def degrees(loop: Loop, x: ir.Value) -> ir.Value:
    """Radians to degrees."""
    return arith.mulf(x, loop.number(180 / math.pi))
