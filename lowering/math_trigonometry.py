"""sin, cos and tan of f32: reduction in f64, polynomials in f32, a guarded library call for huge arguments.

The reduction `r = x - k * pi / 2` is exact to 2**-60 for |x| up to 2**20, far beyond the 8192 that
polynomials in f32 alone would reach. Larger arguments (and infinities and NaN) take a call behind
an `scf.if`; the function called has masked vector variants, so that the loop vectorises all the same.
"""

from __future__ import annotations

import math

from ragged_dialect.lowering.math_emitter import Bits, Number
from ragged_dialect.lowering.math_library import MathLibrary

_LIMIT = 2.0**20
# 33 bits: the product with an integer below 2**20 is exact in f64; the rest of pi / 2 below it.
_HALF_PI_HIGH = round(math.pi / 2 * 2**32) / 2**32
_PI_MINUS_MATH_PI = 1.2246467991473532e-16
_HALF_PI_LOW = (math.pi / 2 - _HALF_PI_HIGH) + _PI_MINUS_MATH_PI / 2
_ROUND = 1.5 * 2**52

SIN = (-0.16666655, 0.00833219, -0.00019518407)
COS = (0.041666646, -0.001388731, 2.4432327e-05)


def _reduced(x: Number) -> tuple[Number, Number, Bits]:
    """For |x| <= 2**20 the sine and the cosine of x - k * pi / 2, and k."""
    wide = x.widen()
    t = wide * (2 / math.pi) + _ROUND
    k = t - _ROUND
    r = (wide - k * _HALF_PI_HIGH - k * _HALF_PI_LOW).narrow(x.value.type)
    square = r * r
    sine = r * square * square.polynomial(SIN) + r
    cosine = square * square * square.polynomial(COS) + (square * -0.5 + 1.0)
    return sine, cosine, t.bits().low_half()


def _turned(x: Number, quarter_turns: int) -> Number:
    """sin(x + quarter_turns * pi / 2) for |x| <= 2**20."""
    sine, cosine, quadrant = _reduced(x)
    if quarter_turns:
        quadrant = quadrant + quarter_turns
    value = x.emitter.select((quadrant & 1).compare("==", 0), sine, cosine)
    return (value.bits() ^ ((quadrant & 2) << 30)).as_float()


def sin(x: Number, library: MathLibrary) -> Number:
    """The sine to 2 ulp for every argument."""
    usual = _turned(x, 0)
    # The reduction adds +0, which would turn the sine of -0 into +0.
    usual = x.emitter.select(x.compare("==", 0.0), x, usual)
    return library.guarded(usual, x.magnitude().compare("<=", _LIMIT), "sin", x)


def cos(x: Number, library: MathLibrary) -> Number:
    """The cosine to 2 ulp for every argument."""
    return library.guarded(_turned(x, 1), x.magnitude().compare("<=", _LIMIT), "cos", x)


def tan(x: Number, library: MathLibrary) -> Number:
    """The tangent to 4 ulp for every argument."""
    sine, cosine, quadrant = _reduced(x)
    select, odd = x.emitter.select, (quadrant & 1).compare("==", 1)
    usual = select(odd, cosine, sine) / select(odd, sine * -1.0, cosine)
    usual = select(x.compare("==", 0.0), x, usual)
    return library.guarded(usual, x.magnitude().compare("<=", _LIMIT), "tan", x)
