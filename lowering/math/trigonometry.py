"""sin, cos, tan, asin, acos, atan and atan2 of f32 and f64 in arithmetic of their type, with guarded library calls.

The reduction of sin, cos and tan is `r = x - k * pi / 2` with pi / 2 in three parts of all the bits that the type has
and fused multiply-adds. The first of them is exact: what it leaves is a multiple of 2**-23 (f64: 2**-52) below 1. The
second rounds r once. The third part is below 2**-49 (2**-109): what it takes from r counts, and is rounded, only
where r is so small that it is its own sine, for |x| up to 2**17 (2**27); f32 goes on to 2**20, where the worst of all
words is 1.8 ulp (from there to 2**21 it is 2.1). What is left out is below 2**-76 (2**-162) for each k, where r is
2**-29 (2**-61) or more. k is off by what 2 / pi is as f32: |r| is up to 1.007 * pi / 4. Without an instruction for
fused multiply-adds f32 is reduced in f64. Larger arguments (and infinities and NaN) take a call behind an `scf.if`;
the function called has masked vector variants, so that the loop is one of vectors all the same.

asin is an odd polynomial up to a half; beyond, with `z = (1 - |x|) / 2`, which is exact, it is
`asin(|x|) = pi / 2 - 2 asin(sqrt(z))`. atan of a / b is an odd polynomial of t up to tan(pi / 8): of a / b, of
`(a - b) / (a + b)` around 1, where pi / 4 is added, and of `-b / a`, where pi / 2 is. The polynomials are derived by
benchmarks/math_coefficients.py.
"""

from __future__ import annotations

import math
from decimal import Decimal

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.math.emitter import EXACT, Bits, Number, with_sign_of
from ragged_dialect.lowering.math.exponential import type_of
from ragged_dialect.lowering.math.library import MathLibrary

_HALF_PI = Decimal("1.57079632679489661923132169163975144209858469968755291048747")


def half_pi(*bits: int) -> tuple[float, ...]:
    """pi / 2 as a sum: multiples of 2**-bits, and what is left."""
    parts: list[float] = []
    rest = _HALF_PI
    for count in bits:
        parts.append(round(EXACT.multiply(rest, 2**count)) / 2**count)
        rest = EXACT.subtract(rest, Decimal(parts[-1]))
    return (*parts, float(rest))


_SINGLE, _DOUBLE = half_pi(23, 48), half_pi(52, 106)
_WIDE = half_pi(32)  # the product of its 33 bits with k is exact in f64

SIN = (-0.16666654, 0.008332102, -0.00019506844)
COS = (0.041666646, -0.0013887298, 2.4430086e-05)
# Taylor's, to below 2**-58 of the sum.
_LONG_SIN = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(1, 9))
_LONG_COS = tuple((-1) ** k / math.factorial(2 * k) for k in range(2, 9))


def _is_usual(x: Number) -> ir.Value:
    return x.magnitude().compare("<=", 2.0 ** (27 if x.is_long else 20))


def _reduced(x: Number, library: MathLibrary) -> tuple[Number, Number, Bits]:
    """Of a usual x the sine and the cosine of x - k * pi / 2, and k."""
    if library.fuses:
        rounding = type_of(x).round
        t = x.fused(2 / math.pi, rounding)
        k, r, quadrant = t - rounding, x, t.bits()
        for part in _DOUBLE if x.is_long else _SINGLE:
            r = k.fused(-part, r)
    else:
        wide = x.widen()
        rounding = type_of(wide).round
        t = wide * (2 / math.pi) + rounding
        k, quadrant = t - rounding, t.bits().low_half()
        r = (wide - k * _WIDE[0] - k * _WIDE[1]).narrow(x.value.type)
    square = r * r
    sine = r * square * square.polynomial(_LONG_SIN if x.is_long else SIN) + r
    cosine = square * square * square.polynomial(_LONG_COS if x.is_long else COS) + (square * -0.5 + 1.0)
    return sine, cosine, quadrant


def _turned(x: Number, quarter_turns: int, library: MathLibrary) -> Number:
    """sin(x + quarter_turns * pi / 2) for a usual x."""
    sine, cosine, quadrant = _reduced(x, library)
    if quarter_turns:
        quadrant = quadrant + quarter_turns
    value = x.emitter.select((quadrant & 1).compare("==", 0), sine, cosine)
    return (value.bits() ^ ((quadrant & 2) << (quadrant.width - 2))).as_float()


def sin(x: Number, library: MathLibrary) -> Number:
    """The sine to 2 ulp for every argument."""
    usual = _turned(x, 0, library)
    # The reduction adds +0, which would turn the sine of -0 into +0.
    usual = x.emitter.select(x.compare("==", 0.0), x, usual)
    return library.guarded(usual, _is_usual(x), "sin", x)


def cos(x: Number, library: MathLibrary) -> Number:
    """The cosine to 2 ulp for every argument."""
    return library.guarded(_turned(x, 1, library), _is_usual(x), "cos", x)


def tan(x: Number, library: MathLibrary) -> Number:
    """The tangent to 4 ulp for every argument."""
    sine, cosine, quadrant = _reduced(x, library)
    select, odd = x.emitter.select, (quadrant & 1).compare("==", 1)
    usual = select(odd, cosine, sine) / select(odd, sine * -1.0, cosine)
    usual = select(x.compare("==", 0.0), x, usual)
    return library.guarded(usual, _is_usual(x), "tan", x)


ASIN = (0.16666754, 0.07495252, 0.04547604, 0.02415209, 0.042211805)

ASIN_LONG = (
    0.16666666666666666,
    0.07500000000000118,
    0.044642857142551895,
    0.03038194447553234,
    0.02237215744350722,
    0.017352816540325496,
    0.01396378001220357,
    0.011566459612121669,
    0.009621842970100282,
    0.009319560794767446,
    0.003044879909455677,
    0.01955451333612338,
    -0.01924167174674304,
    0.02961201126495512,
)


def _of_small(x: Number) -> tuple[Number, Number, Number]:
    """(root, tail, a): `asin(root) = root + tail`, for root = |x| up to a half, the square root of z beyond; |x|."""
    a = x.magnitude()
    is_small = a.compare("<=", 0.5)
    z = x.emitter.select(is_small, a * a, (1.0 - a) * 0.5)
    root = x.emitter.select(is_small, a, z.square_root())
    return root, root * z * z.polynomial(ASIN_LONG if x.is_long else ASIN), a


def asin(x: Number) -> Number:
    """The arcsine to 2 ulp."""
    root, tail, a = _of_small(x)
    half_pi_high, half_pi_low = half_pi(type_of(x).mantissa)
    large = half_pi_high / 2 - ((root * 2.0 - half_pi_high / 2) + (tail * 2.0 - half_pi_low))
    return with_sign_of(x.emitter.select(a.compare("<=", 0.5), root + tail, large), x)


def acos(x: Number) -> Number:
    """The arccosine to 2 ulp."""
    select = x.emitter.select
    root, tail, a = _of_small(x)
    half_pi_high, half_pi_low = half_pi(type_of(x).mantissa)
    of_small = with_sign_of(root, x), with_sign_of(tail, x)
    small = half_pi_high - (of_small[0] - (half_pi_low - of_small[1]))
    twice = (root + tail) * 2.0
    rest = 2 * half_pi_high - ((root * 2.0 - 2 * half_pi_low) + tail * 2.0)
    large = select(x.compare("<", 0.0), rest, twice)
    return select(a.compare("<=", 0.5), small, large)


ATAN = (-0.33333316, 0.19998533, -0.14244512, 0.106001884, -0.06092794)
ATAN_LONG = (
    -0.3333333333333333,
    0.19999999999999804,
    -0.14285714285659828,
    0.11111111105155447,
    -0.09090908753500877,
    0.07692296375032143,
    -0.06666424885738255,
    0.05878928997834775,
    -0.05230454270650244,
    0.045515932206265486,
    -0.03457056198142774,
    0.01628575685522102,
)

_EIGHTH = math.sqrt(2) - 1


def atan(x: Number) -> Number:
    """The arctangent to 2 ulp."""
    return with_sign_of(_of_quotient(x.magnitude(), x.constant(1.0)), x)


def atan2(y: Number, x: Number, library: MathLibrary) -> Number:
    """The angle of the point (x, y) to 2 ulp: the library's where the sum of both is next to 0, infinite or NaN."""
    a, b, select = y.magnitude(), x.magnitude(), x.emitter.select
    right = _of_quotient(a, b)
    own = type_of(x)
    high, low = half_pi(own.mantissa)
    angle = select(x.compare("<", 0.0), 2 * high - (right - 2 * low), right)
    known = select((a + b).compare(">", 2.0 ** (own.mantissa - own.bias)), a + b, math.inf).compare("<", math.inf)
    return library.guarded(with_sign_of(angle, y), known, "atan2", y, x)


def _of_quotient(a: Number, b: Number) -> Number:
    """The arctangent of a / b, neither of which is negative."""
    select = a.emitter.select
    is_small, is_large = a.compare("<", b * _EIGHTH), (a * _EIGHTH).compare(">", b)
    above = select(is_small, a, select(is_large, b * -1.0, a - b))
    t = above / select(is_small, b, select(is_large, a, a + b))
    high, low = (
        select(is_small, 0.0, select(is_large, a.constant(part), part / 2)) for part in half_pi(type_of(a).mantissa)
    )
    square = t * t
    tail = t * square * square.polynomial(ATAN_LONG if a.is_long else ATAN) + low
    return high + (t + tail)
