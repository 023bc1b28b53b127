"""Bodies of ufuncs that shift or look at bits, or loop within an element."""

from __future__ import annotations

import numpy as np

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.ops.ufunc_bodies import Body, Loop, absolute, in_single, register
from ragged_dialect.arrays.tracing.elements import compare, constant, convert, create, infinity, select
from ragged_dialect.arrays.tracing.trace import element_type
from ragged_dialect.ir import flow

BODIES: dict[str, Body] = {}
"""Bodies by the ufunc's name."""

_EUCLID = {1: 12, 2: 24, 4: 47, 8: 93}
"""Most steps of Euclid's algorithm by the bytes of its integers: consecutive Fibonacci numbers."""


@register(BODIES, "gcd")
def gcd(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """The greatest common divisor; 0 of two zeros."""
    zero = loop.number(0)

    def step(_: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        high, low = state
        done = compare("eq", low, zero)
        return [select(done, high, low), select(done, zero, arith.remsi(high, low))]

    state = [absolute(loop, a), absolute(loop, b)]
    return absolute(loop, flow.for_loop(_EUCLID[loop.dtype.itemsize], state, step)[0])


@register(BODIES, "lcm")
def lcm(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """The least common multiple; 0 where one is 0, its last bits where it is too large. The size of the least integer
    is an unsigned number."""
    part = arith.divui(absolute(loop, a), gcd(loop, a, b))
    return arith.muli(part, absolute(loop, b))


def _bits(dtype: DType) -> DType:
    return np.dtype(f"i{dtype.itemsize}")


def _as_bits(loop: Loop, x: ir.Value) -> ir.Value:
    return arith.bitcast(element_type(_bits(loop.dtype)), x)


@register(BODIES, "nextafter")
def nextafter(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """The next float after a towards b."""
    zero, bits = loop.number(0), _bits(loop.dtype)
    up = compare("gt", b, a)
    grows = compare("eq", arith.extui(element_type(bits), up), arith.extui(element_type(bits), compare("gt", a, zero)))
    moved = arith.addi(_as_bits(loop, a), select(grows, constant(bits, 1), constant(bits, -1)))
    found = arith.bitcast(element_type(loop.dtype), moved)
    least = arith.bitcast(element_type(loop.dtype), constant(bits, 1))
    found = select(compare("eq", a, zero), create("math.copysign", least, b), found)
    found = select(compare("eq", a, b), b, found)
    nan = arith.ori(compare("ne", a, a), compare("ne", b, b))
    return select(nan, arith.addf(a, b), found)


@register(BODIES, "spacing")
def spacing(loop: Loop, x: ir.Value) -> ir.Value:
    """The distance to the next float away from 0, with the sign of x; of a float16 to the next above, as NumPy's. nan
    for infinities."""
    up = infinity(loop.dtype, 1)
    if loop.dtype == np.float16:
        away = up
    else:
        away = select(compare("eq", x, loop.number(0)), up, create("math.copysign", up, x))
    return arith.subf(nextafter(loop, x, away), select(compare("lt", create("math.absf", x), up), x, arith.subf(x, x)))


@register(BODIES, "frexp")
@in_single
def frexp(loop: Loop, x: ir.Value) -> list[ir.Value]:
    """Mantissa in [0.5, 1) and exponent (int32): x is the mantissa times 2 to the exponent."""
    mantissa_bits = int(np.finfo(loop.dtype).nmant)
    bits = _bits(loop.dtype)
    bias = 2 ** (8 * loop.dtype.itemsize - mantissa_bits - 2) - 1
    field = 2 * bias + 1
    shift = constant(bits, mantissa_bits)
    tiny = compare("lt", create("math.absf", x), loop.number(float(np.finfo(loop.dtype).tiny)))
    scaled = select(tiny, arith.mulf(x, loop.number(2.0**mantissa_bits)), x)
    raw = _as_bits(loop, scaled)
    exponent = arith.andi(arith.shrsi(raw, shift), constant(bits, field))
    exponent = arith.subi(exponent, constant(bits, bias - 1))
    exponent = select(tiny, arith.subi(exponent, shift), exponent)
    cleared = arith.andi(raw, constant(bits, ~(field << mantissa_bits)))
    half = arith.ori(cleared, constant(bits, (bias - 1) << mantissa_bits))
    mantissa = arith.bitcast(element_type(loop.dtype), half)
    plain = arith.andi(compare("lt", create("math.absf", x), infinity(loop.dtype, 1)), compare("ne", x, loop.number(0)))
    narrow = convert(exponent, bits, np.dtype(np.int32))
    return [select(plain, mantissa, x), select(plain, narrow, constant(np.dtype(np.int32), 0))]


def _last_bit(loop: Loop) -> ir.Value:
    return loop.number(8 * loop.dtype.itemsize - 1)


@register(BODIES, "left_shift")
def left_shift(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """a times 2 to the b; 0 where all bits are shifted out."""
    inside = arith.andi(compare("ge", b, loop.number(0)), compare("le", b, _last_bit(loop)))
    return select(inside, arith.shli(a, select(inside, b, loop.number(0))), loop.number(0))


@register(BODIES, "right_shift")
def right_shift(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """a by 2 to the b, rounded down; the sign where all bits are shifted out."""
    inside = arith.andi(compare("ge", b, loop.number(0)), compare("le", b, _last_bit(loop)))
    return arith.shrsi(a, select(inside, b, _last_bit(loop)))
