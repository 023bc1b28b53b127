"""exp, exp2, expm1, sinh, cosh and tanh of f32 and f64 in straight-line arithmetic of their type.

`exp(x) = 2**n * exp(r)` with `n` the integer next to `x / ln 2`. `n` comes from adding `1.5 * 2**23`, or `1.5 * 2**52`
(plus a bias), which leaves the integer in the low bits of the sum: shifted to the exponent field
they are the scale, without a float-to-int conversion. The polynomials of f32 are derived by
benchmarks/math_coefficients.py; those of f64 are Taylor's, whose arguments are at most a half, or 1 for sinh.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect.lowering.math.emitter import LN2, Bits, Number, two_parts, with_sign_of

_LOG2_E = 1 / math.log(2)

EXP = (0.49999997, 0.16666546, 0.041667435, 0.008366273, 0.0013870716)
EXP2 = (0.6931472, 0.24022648, 0.055503596, 0.009618503, 0.0013390998, 0.00015327832)
SINH = (0.16666667, 0.008333311, 0.00019842635, 2.7839255e-06)
TANH = (-0.3333328, 0.13331406, -0.053736515, 0.020628167, -0.005692296)
_TANH_SMALL = 0.625


@dataclass(frozen=True)
class _Type:
    """A type of floats: bits of its mantissa, the bias of its exponents, the numbers between which powers of e are
    neither 0 nor infinite, those of 2 likewise, and polynomials. `split` are the bits of the high part of ln 2, whose
    product with an integer of the exponent's size is exact."""

    mantissa: int
    bias: int
    low: float
    high: float
    lowest: float
    split: int
    exp: tuple[float, ...]
    exp2: tuple[float, ...]
    sinh: tuple[float, ...]

    @property
    def round(self) -> float:
        """What is added to leave an integer in the low bits."""
        return 1.5 * 2**self.mantissa


_SINGLE = _Type(23, 127, -104.0, 89.0, -150.5, 15, EXP, EXP2, SINH)
_DOUBLE = _Type(
    52,
    1023,
    -746.0,
    710.0,
    -1076.0,
    40,
    tuple(1 / math.factorial(k) for k in range(2, 14)),
    tuple(math.log(2) ** k / math.factorial(k) for k in range(1, 14)),
    tuple(1 / math.factorial(k) for k in range(3, 20, 2)),
)


def type_of(x: Number) -> _Type:
    """What there is to know of the type of a number."""
    return _DOUBLE if x.is_long else _SINGLE


def _reduce(x: Number, bias: int) -> tuple[Number, Number]:
    """(t, r): `x = n ln 2 + r` with `|r| <= ln(2) / 2`, and `n + bias` in the low bits of t."""
    own = type_of(x)
    high, low = two_parts(LN2, own.split)
    t = x * _LOG2_E + (own.round + bias)
    n = t - (own.round + bias)
    return t, x - n * high - n * low


def _reduce2(x: Number, bias: int) -> tuple[Number, Number]:
    """(t, r): `x = n + r` with `|r| <= 1 / 2`, and `n + bias` in the low bits of t."""
    rounding = type_of(x).round + bias
    t = x + rounding
    return t, x - (t - rounding)


def _power(r: Number) -> Number:
    """`e**r - 1` for `|r| <= ln(2) / 2`."""
    return r * r * r.polynomial(type_of(r).exp) + r


def _scaled(p: Number, sum_of_exponents: Bits) -> Number:
    """`p * 2**n` for n from that of the least subnormal to 1 above the highest exponent, given n and twice the bias of
    exponents in the low bits.

    The scale is split in two factors: alone it is no number of the type where the result is subnormal or p < 1
    and n is above the highest exponent. Their biased exponents are the two halves of the sum.
    """
    mantissa = type_of(p).mantissa
    half = sum_of_exponents >> 1
    return p * (half << mantissa).as_float() * ((sum_of_exponents - half) << mantissa).as_float()


def exp(x: Number) -> Number:
    """`e**x` to 1 ulp; subnormal results rounded once."""

    own = type_of(x)

    def power(x: Number) -> Number:
        t, r = _reduce(x.at_most(own.high), 2 * own.bias)
        return _scaled(_power(r) + 1.0, t.bits())

    return _or_zero(x, own.low, power)


def _or_zero(x: Number, low: float, power: Callable[[Number], Number]) -> Number:
    """The power of x, 0 for x below `low` without computing any: a product that underflows takes a hundred times as
    long as others, and masked elements are all like that."""
    nothing = x.compare("<", low)
    select = x.emitter.select
    return select(nothing, 0.0, power(select(nothing, 0.0, x)))


def exp2(x: Number) -> Number:
    """`2**x` to 1 ulp."""

    own = type_of(x)

    def power(x: Number) -> Number:
        t, r = _reduce2(x.at_most(own.bias + 1.0), 2 * own.bias)
        return _scaled(r * r.polynomial(own.exp2) + 1.0, t.bits())

    return _or_zero(x, own.lowest, power)


def exp2_of_sum(x: Number, rest: Number | None) -> Number:
    """`2**(x + rest)` to 1 ulp, for a rest of a few ulps of x at most; without branches for small results."""
    own = type_of(x)
    t, r = _reduce2(x.at_most(own.bias + 2.0).at_least(own.lowest), 2 * own.bias)
    if rest is not None:
        r = r + rest
    return _scaled(r * r.polynomial(own.exp2) + 1.0, t.bits())


def exp2_at_most_one(x: Number) -> Number:
    """`2**x` for x <= 0, of f32 or f64, 0 where it is below the normal numbers: no clamps but one and a single scale,
    whose exponent is 0 there."""
    own = type_of(x)
    t, r = _reduce2(x.at_least(float(-own.bias)), own.bias)
    return (r * r.polynomial(own.exp2) + 1.0) * (t.bits() << own.mantissa).as_float()


def one_less_exp2(x: Number) -> Number:
    """`1 - 2**x` for x in [-126, 0], also where that is near 0."""
    own = type_of(x)
    t, r = _reduce2(x, own.bias)
    scale = (t.bits() << own.mantissa).as_float()
    return (1.0 - scale) - scale * (r * r.polynomial(own.exp2))


def expm1(x: Number) -> Number:
    """`e**x - 1` to 2 ulp; exact where x is too small for the square to count."""
    own = type_of(x)
    t, r = _reduce(x.at_most(own.high).at_least(-1.0 * (own.mantissa + 3)), own.bias - 1)
    half_scale = (t.bits() << own.mantissa).as_float()  # 2**(n - 1): 2**n may be infinite
    result = (half_scale * _power(r) + (half_scale - 0.5)) * 2.0
    return x.emitter.select(x.magnitude().compare("<", 2.0 ** -(own.mantissa + 2)), x, result)


def tanh(x: Number) -> Number:
    """Of f32 an odd polynomial below 0.625, else `1 - 2 / (exp(2|x|) + 1)`; of f64 as of short floats, to 3 ulp."""
    if x.is_long:
        return tanh_of_short(x)
    own, a = type_of(x), x.magnitude()
    t, r = _reduce(a.at_most(0.36 * (own.mantissa + 3)) * 2.0, own.bias)
    scale = (t.bits() << own.mantissa).as_float()
    power = scale * _power(r) + (scale + 1.0)
    square = x * x
    small = a * square * square.polynomial(TANH) + a
    return with_sign_of(x.emitter.select(a.compare("<", _TANH_SMALL), small, 1.0 - 2.0 / power), x)


def tanh_of_short(x: Number) -> Number:
    """`e / (e + 2)` with `e = exp(2|x|) - 1`, to 3 ulp: fewer instructions than f32 has, which is to 2."""
    own, a = type_of(x), x.magnitude()
    t, r = _reduce(a.at_most(0.36 * (own.mantissa + 3)) * 2.0, own.bias)
    scale = (t.bits() << own.mantissa).as_float()
    power = scale * _power(r) + (scale - 1.0)
    return with_sign_of(power / (power + 2.0), x)


def exp_of_half(x: Number) -> Number:
    """`e**x` of a number of f16 as f32: with one scale, since what f16 rounds to infinity or to 0 is neither there."""
    own = type_of(x)
    t, r = _reduce(x.at_most(12.0).at_least(-18.0), own.bias)
    return (_power(r) + 1.0) * (t.bits() << own.mantissa).as_float()


def _half_power(a: Number) -> Number:
    """`e**a / 2` to 1 ulp for a >= 0."""
    own = type_of(a)
    t, r = _reduce(a.at_most(own.high + 1.0), 2 * own.bias - 1)
    return _scaled(_power(r) + 1.0, t.bits())


def cosh(x: Number) -> Number:
    """The hyperbolic cosine to 2 ulp."""
    half = _half_power(x.magnitude())
    return half + 0.25 / half


def sinh(x: Number) -> Number:
    """Odd polynomial below 1, else `(e**|x| - e**-|x|) / 2`; 2 ulp."""
    a = x.magnitude()
    square = x * x
    small = a * square * square.polynomial(type_of(x).sinh) + a
    half = _half_power(a)
    return with_sign_of(x.emitter.select(a.compare("<", 1.0), small, half - 0.25 / half), x)
