"""exp, exp2, expm1, sinh, cosh and tanh of f32 in straight-line f32 arithmetic.

`exp(x) = 2**n * exp(r)` with `n` the integer next to `x / ln 2`. `n` comes from adding `1.5 * 2**23`
(plus a bias), which leaves the integer in the low bits of the sum: shifted to the exponent field
they are the scale, without a float-to-int conversion. The polynomials are derived by
benchmarks/math_coefficients.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ragged_dialect.lowering.math_emitter import Number, with_sign_of

_ROUND = 1.5 * 2**23
_LOG2_E = 1 / math.log(2)
# 15 bits, so that a product with an integer of up to 9 bits is exact; the rest of ln 2 below it.
_LN2_HIGH = round(math.log(2) * 2**15) / 2**15
_LN2_LOW = math.log(2) - _LN2_HIGH

EXP = (0.49999997, 0.16666546, 0.041667435, 0.008366273, 0.0013870716)
EXP2 = (0.6931472, 0.24022648, 0.055503596, 0.009618503, 0.0013390998, 0.00015327832)
# Taylor's terms are enough for f64: the argument is at most a half.
EXP2_LONG = tuple(math.log(2) ** k / math.factorial(k) for k in range(1, 14))
TANH = (-0.3333328, 0.13331406, -0.053736515, 0.020628167, -0.005692296)
_TANH_SMALL = 0.625
SINH = (0.16666667, 0.008333311, 0.00019842635, 2.7839255e-06)


def _reduce(x: Number, bias: int) -> tuple[Number, Number]:
    """(t, r): `x = n ln 2 + r` with `|r| <= ln(2) / 2`, and `n + bias` in the low bits of t."""
    t = x * _LOG2_E + (_ROUND + bias)
    n = t - (_ROUND + bias)
    return t, x - n * _LN2_HIGH - n * _LN2_LOW


def _scaled(p: Number, t: Number) -> Number:
    """`p * 2**n` for n in [-150, 128], with `n + 254` in the low bits of t.

    The scale is split in two factors: alone it is no f32 where the result is subnormal or p < 1
    and n = 128. Their biased exponents are the two halves of n + 254.
    """
    sum_of_exponents = t.bits()
    half = sum_of_exponents >> 1
    return p * (half << 23).as_float() * ((sum_of_exponents - half) << 23).as_float()


def exp(x: Number) -> Number:
    """`e**x` to 1 ulp; subnormal results rounded once."""

    def power(x: Number) -> Number:
        t, r = _reduce(x.at_most(89.0), 254)
        return _scaled(r * r * r.polynomial(EXP) + r + 1.0, t)

    return _or_zero(x, -104.0, power)


def _or_zero(x: Number, low: float, power: Callable[[Number], Number]) -> Number:
    """The power of x, 0 for x below `low` without computing any: a product that underflows takes a hundred times as
    long as others, and masked elements are all like that."""
    nothing = x.compare("<", low)
    select = x.emitter.select
    return select(nothing, 0.0, power(select(nothing, 0.0, x)))


def exp_in_range(x: Number) -> Number:
    """`e**x` for x in [-87, 88]: no clamps and a single scale."""
    t, r = _reduce(x, 127)
    return (r * r * r.polynomial(EXP) + r + 1.0) * (t.bits() << 23).as_float()


def exp2(x: Number) -> Number:
    """`2**x` to 1 ulp."""

    def power(x: Number) -> Number:
        x = x.at_most(128.0)
        t = x + (_ROUND + 254)
        r = x - (t - (_ROUND + 254))
        return _scaled(r * r.polynomial(EXP2) + 1.0, t)

    return _or_zero(x, -150.5, power)


def exp2_at_most_one(x: Number) -> Number:
    """`2**x` for x <= 0, of f32 or f64, 0 where it is below the normal numbers: no clamps but one and a single scale,
    whose exponent is 0 there."""
    mantissa, bias, terms = (52, 1023, EXP2_LONG) if x.is_long else (23, 127, EXP2)
    rounding = 1.5 * 2**mantissa + bias
    x = x.at_least(float(-bias))
    t = x + rounding
    r = x - (t - rounding)
    return (r * r.polynomial(terms) + 1.0) * (t.bits() << mantissa).as_float()


def expm1(x: Number) -> Number:
    """`e**x - 1` to 2 ulp; exact where x is too small for the square to count."""
    t, r = _reduce(x.at_most(89.0).at_least(-18.0), 126)
    half_scale = (t.bits() << 23).as_float()  # 2**(n - 1): 2**n is infinite for n = 128
    p = r * r * r.polynomial(EXP) + r
    result = (half_scale * p + (half_scale - 0.5)) * 2.0
    return x.emitter.select(x.magnitude().compare("<", 2.0**-25), x, result)


def tanh(x: Number) -> Number:
    """Odd polynomial below 0.625, else `1 - 2 / (exp(2|x|) + 1)`; 2 ulp."""
    a = x.magnitude()
    t, r = _reduce(a.at_most(9.1) * 2.0, 127)
    scale = (t.bits() << 23).as_float()
    power = scale * (r * r * r.polynomial(EXP) + r) + (scale + 1.0)
    square = x * x
    small = a * square * square.polynomial(TANH) + a
    return with_sign_of(x.emitter.select(a.compare("<", _TANH_SMALL), small, 1.0 - 2.0 / power), x)


def _half_power(a: Number) -> Number:
    """`e**a / 2` to 1 ulp for a >= 0."""
    t, r = _reduce(a.at_most(90.0), 253)
    return _scaled(r * r * r.polynomial(EXP) + r + 1.0, t)


def cosh(x: Number) -> Number:
    """The hyperbolic cosine to 2 ulp."""
    half = _half_power(x.magnitude())
    return half + 0.25 / half


def sinh(x: Number) -> Number:
    """Odd polynomial below 1, else `(e**|x| - e**-|x|) / 2`; 2 ulp."""
    a = x.magnitude()
    square = x * x
    small = a * square * square.polynomial(SINH) + a
    half = _half_power(a)
    return with_sign_of(x.emitter.select(a.compare("<", 1.0), small, half - 0.25 / half), x)
