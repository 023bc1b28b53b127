"""Bodies of ufuncs that are formulas of floats, divide, shift or look at bits, or loop within an element. Integers
divided by 0 give 0, as in every program (`define-integer-divisions`)."""

from __future__ import annotations

import math

import numpy as np

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.ops.ufunc_bodies import BODIES as BODIES
from ragged_dialect.arrays.ops.ufunc_bodies import Loop, element, in_single, isinf, register
from ragged_dialect.arrays.tracing.elements import compare, constant, convert, create, infinity, select
from ragged_dialect.arrays.tracing.trace import element_type
from ragged_dialect.ir import flow


def _bits(dtype: DType) -> DType:
    return np.dtype(f"i{dtype.itemsize}")


def _as_bits(loop: Loop, x: ir.Value) -> ir.Value:
    return arith.bitcast(element_type(_bits(loop.dtype)), x)


def _of_bits(loop: Loop, bits: ir.Value) -> ir.Value:
    """A float, which has no derivative."""
    return arith.bitcast(element_type(loop.dtype), bits)


def without_derivative(x: ir.Value, dtype: DType) -> ir.Value:
    """A float by way of its bits."""
    return arith.bitcast(element_type(dtype), arith.bitcast(element_type(_bits(dtype)), x))


@register("ldexp")
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
        x = arith.mulf(x, _of_bits(loop, raw))
    return x


@register("heaviside")
def heaviside(loop: Loop, x: ir.Value, at_zero: ir.Value) -> ir.Value:
    """0 below 0, 1 above, `at_zero` at 0."""
    zero = loop.number(0)
    found = select(compare("eq", x, zero), at_zero, select(compare("lt", x, zero), zero, loop.number(1)))
    return select(compare("ne", x, x), x, found)


@register("hypot")
@in_single
def hypot(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """The root of a² + b², without overflow on the way. What both are divided by has no part in the derivative."""
    sizes = create("math.absf", a), create("math.absf", b)
    high = arith.maximumf(*sizes)
    none = compare("eq", high, loop.number(0))  # the root has no derivative there: that of 1 is taken
    divisor = select(none, loop.number(1), high)
    squares = arith.addf(*(arith.mulf(x, x) for x in (arith.divf(x, divisor) for x in (a, b))))
    found = arith.mulf(high, create("math.sqrt", select(none, loop.number(1), squares)))
    infinite = arith.ori(*(compare("eq", x, infinity(loop.dtype, 1)) for x in sizes))
    return select(infinite, infinity(loop.dtype, 1), found)


def _add_exponentials(loop: Loop, a: ir.Value, b: ir.Value, exp: str, scale: float) -> ir.Value:
    """The larger one, and a function of how far the other is below it. Equal ones share the derivative."""
    first = compare("ge", a, b)
    high, low = select(first, a, b), select(first, b, a)
    infinite = arith.andi(compare("eq", a, b), isinf(loop, a))
    below = select(infinite, loop.number(0), arith.subf(low, high))
    added = create("math.log1p", create(exp, below))
    return arith.addf(high, arith.mulf(added, loop.number(scale)) if scale != 1 else added)


@register("logaddexp")
@in_single
def logaddexp(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """log(exp(a) + exp(b))."""
    return _add_exponentials(loop, a, b, "math.exp", 1)


@register("logaddexp2")
@in_single
def logaddexp2(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """log2(2**a + 2**b)."""
    return _add_exponentials(loop, a, b, "math.exp2", 1 / math.log(2))


@register("deg2rad", "radians")
def radians(loop: Loop, x: ir.Value) -> ir.Value:
    """Degrees to radians."""
    return arith.mulf(x, loop.number(math.pi / 180))


@register("rad2deg", "degrees")
def degrees(loop: Loop, x: ir.Value) -> ir.Value:
    """Radians to degrees."""
    return arith.mulf(x, loop.number(180 / math.pi))


@register("reciprocal")
def reciprocal(loop: Loop, x: ir.Value) -> ir.Value:
    """1 / x; of integers without the remainder."""
    return arith.divf(loop.number(1), x) if loop.is_float else arith.divsi(loop.number(1), x)


def _zero_signed(loop: Loop, x: ir.Value, like: ir.Value) -> ir.Value:
    """`x`, whose sign is that of another number but where it is 0, with that sign there too. The derivative is that
    of `x`."""
    negative = compare("lt", create("math.copysign", loop.number(1), like), loop.number(0))
    return select(negative, arith.minimumf(x, loop.number(-0.0)), arith.maximumf(x, loop.number(0)))


def _divmod_floats(loop: Loop, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """floor(a / b) and the remainder with the sign of b: the steps of NumPy's divmod."""
    zero, one = loop.number(0), loop.number(1)
    rest = arith.remf(a, b)
    quotient = arith.divf(arith.subf(a, rest), b)
    moved = arith.andi(
        arith.xori(compare("lt", rest, zero), compare("lt", b, zero)),
        compare("ne", rest, zero),
    )
    quotient = select(moved, arith.subf(quotient, one), quotient)
    floor = create("math.floor", quotient)
    rounded = select(compare("gt", arith.subf(quotient, floor), loop.number(0.5)), arith.addf(floor, one), floor)
    plain = arith.divf(a, b)
    rounded = select(compare("eq", quotient, zero), create("math.copysign", zero, plain), rounded)
    rest = _zero_signed(loop, select(moved, arith.addf(rest, b), rest), b)
    return select(compare("eq", b, zero), plain, rounded), rest


@register("remainder")
@in_single
def remainder(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """The remainder with the sign of b; 0 for integers by 0, nan for floats."""
    if loop.is_float:
        return _divmod_floats(loop, a, b)[1]
    zero = loop.number(0)
    rest = arith.remsi(a, b)
    opposite = arith.xori(compare("lt", rest, zero), compare("lt", b, zero))
    moved = arith.andi(arith.andi(opposite, compare("ne", rest, zero)), compare("ne", b, zero))
    return select(moved, arith.addi(rest, b), rest)


@register("floor_divide")
@in_single
def floor_divide(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """The largest integer not above a / b; 0 for integers by 0."""
    if loop.is_float:
        return _divmod_floats(loop, a, b)[0]
    quotient, rest = arith.divsi(a, b), arith.remsi(a, b)
    zero = loop.number(0)
    below = arith.andi(compare("ne", rest, zero), arith.xori(compare("lt", a, zero), compare("lt", b, zero)))
    below = arith.andi(below, compare("ne", b, zero))
    return select(below, arith.subi(quotient, loop.number(1)), quotient)


@register("divmod")
@in_single
def divmod_(loop: Loop, a: ir.Value, b: ir.Value) -> list[ir.Value]:
    """floor_divide and remainder."""
    return list(_divmod_floats(loop, a, b)) if loop.is_float else [floor_divide(loop, a, b), remainder(loop, a, b)]


@register("modf")
def modf(loop: Loop, x: ir.Value) -> list[ir.Value]:
    """The fraction and the integer, both with the sign of x."""
    whole = create("math.trunc", x)
    fraction = select(isinf(loop, x), loop.number(0), arith.subf(x, whole))
    return [_zero_signed(loop, fraction, x), whole]


@register("gcd")
def gcd(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """The greatest common divisor, by Euclid's algorithm; 0 of two zeros."""
    zero = loop.number(0)
    state = flow.repeat(
        [element("absolute", loop, a), element("absolute", loop, b)],
        lambda state: compare("ne", state[1], zero),
        lambda state: [state[1], arith.remsi(*state)],
    )
    return element("absolute", loop, state[0])


@register("lcm")
def lcm(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """The least common multiple; 0 where one is 0, its last bits where it is too large. The size of the least integer
    is an unsigned number."""
    part = arith.divui(element("absolute", loop, a), gcd(loop, a, b))
    return arith.muli(part, element("absolute", loop, b))


@register("nextafter")
def nextafter(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """The next float after a towards b, with the derivative of a: the step is a sum where that is as exact."""
    zero, bits = loop.number(0), _bits(loop.dtype)
    up = compare("gt", b, a)
    grows = compare("eq", arith.extui(element_type(bits), up), arith.extui(element_type(bits), compare("gt", a, zero)))
    moved = arith.addi(_as_bits(loop, a), select(grows, constant(bits, 1), constant(bits, -1)))
    found, least = _of_bits(loop, moved), _of_bits(loop, constant(bits, 1))
    found = select(compare("eq", a, zero), create("math.copysign", least, b), found)
    summed = arith.addf(a, arith.subf(found, _of_bits(loop, _as_bits(loop, a))))
    found = select(compare("eq", summed, select(compare("eq", found, zero), least, found)), summed, found)
    found = select(compare("eq", a, b), b, found)
    nan = arith.ori(compare("ne", a, a), compare("ne", b, b))
    return select(nan, arith.addf(a, b), found)


@register("spacing")
def spacing(loop: Loop, x: ir.Value) -> ir.Value:
    """The distance to the next float away from 0, with the sign of x; of a float16 to the next above, as NumPy's. nan
    for infinities."""
    up, x = infinity(loop.dtype, 1), _of_bits(loop, _as_bits(loop, x))
    if loop.dtype == np.float16:
        away = up
    else:
        away = select(compare("eq", x, loop.number(0)), up, create("math.copysign", up, x))
    return arith.subf(nextafter(loop, x, away), select(compare("lt", create("math.absf", x), up), x, arith.subf(x, x)))


@register("frexp")
@in_single
def frexp(loop: Loop, x: ir.Value) -> list[ir.Value]:
    """Mantissa in [0.5, 1) and exponent (int32): x is the mantissa times 2 to the exponent. It is multiplied by two
    powers, which are normal numbers, so that the mantissa has a derivative."""
    mantissa_bits = int(np.finfo(loop.dtype).nmant)
    bits = _bits(loop.dtype)
    bias = 2 ** (8 * loop.dtype.itemsize - mantissa_bits - 2) - 1
    field = 2 * bias + 1
    shift = constant(bits, mantissa_bits)
    tiny = compare("lt", create("math.absf", x), loop.number(float(np.finfo(loop.dtype).tiny)))
    scaled = select(tiny, arith.mulf(x, loop.number(2.0**mantissa_bits)), x)
    exponent = arith.andi(arith.shrsi(_as_bits(loop, scaled), shift), constant(bits, field))
    exponent = arith.subi(exponent, constant(bits, bias - 1))
    half = arith.shrsi(exponent, constant(bits, 1))
    mantissa = scaled
    for part in (half, arith.subi(exponent, half)):
        mantissa = arith.mulf(mantissa, _of_bits(loop, arith.shli(arith.subi(constant(bits, bias), part), shift)))
    exponent = select(tiny, arith.subi(exponent, shift), exponent)
    plain = arith.andi(compare("lt", create("math.absf", x), infinity(loop.dtype, 1)), compare("ne", x, loop.number(0)))
    narrow = convert(exponent, bits, np.dtype(np.int32))
    return [select(plain, mantissa, x), select(plain, narrow, constant(np.dtype(np.int32), 0))]


def _last_bit(loop: Loop) -> ir.Value:
    return loop.number(8 * loop.dtype.itemsize - 1)


@register("left_shift")
def left_shift(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """a times 2 to the b; 0 where all bits are shifted out."""
    inside = arith.andi(compare("ge", b, loop.number(0)), compare("le", b, _last_bit(loop)))
    return select(inside, arith.shli(a, select(inside, b, loop.number(0))), loop.number(0))


@register("right_shift")
def right_shift(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """a by 2 to the b, rounded down; the sign where all bits are shifted out."""
    inside = arith.andi(compare("ge", b, loop.number(0)), compare("le", b, _last_bit(loop)))
    return arith.shrsi(a, select(inside, b, _last_bit(loop)))
