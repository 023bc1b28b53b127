"""sin, cos and tan of f32 in f32 arithmetic, with a guarded library call for huge arguments.

The reduction is `r = x - k * pi / 2` with pi / 2 in three parts of 24 bits and fused multiply-adds. The first of them
is exact: what it leaves is a multiple of 2**-23 below 1. The second rounds r once. The third part is below 2**-49:
what it takes from r counts, and is rounded, only where r is so small that it is its own sine, for |x| up to 2**17.
What is left out is 2**-76 for each k, where r is 2**-29 or more. k is off by what 2 / pi is as f32: |r| is up to
1.007 * pi / 4. Without an instruction for fused multiply-adds the same is done in f64. Larger arguments (and
infinities and NaN) take a call behind an `scf.if`; the function called has masked vector variants, so that the loop
is one of vectors all the same.
"""

from __future__ import annotations

import math

from ragged_dialect.lowering.math_emitter import Bits, Number
from ragged_dialect.lowering.math_library import MathLibrary

_LIMIT = 2.0**17
_PI_MINUS_MATH_PI = 1.2246467991473532e-16


def _half_pi(*bits: int) -> tuple[float, ...]:
    """pi / 2 as a sum: multiples of 2**-bits, and what is left."""
    parts: list[float] = []
    rest = math.pi / 2
    for count in bits:
        parts.append(round(rest * 2**count) / 2**count)
        rest -= parts[-1]
    return (*parts, rest + _PI_MINUS_MATH_PI / 2)


# Of 24 bits each; of 33 bits, whose product with k is exact in f64, and the rest.
_PARTS, _LONG_PARTS = _half_pi(23, 48), _half_pi(32)

SIN = (-0.16666654, 0.008332102, -0.00019506844)
COS = (0.041666646, -0.0013887298, 2.4430086e-05)


def _reduced(x: Number, library: MathLibrary) -> tuple[Number, Number, Bits]:
    """For |x| <= 2**17 the sine and the cosine of x - k * pi / 2, and k."""
    if library.fuses:
        rounding = 1.5 * 2**23
        t = x.fused(2 / math.pi, rounding)
        k, r, quadrant = t - rounding, x, t.bits()
        for part in _PARTS:
            r = k.fused(-part, r)
    else:
        rounding, wide = 1.5 * 2**52, x.widen()
        t = wide * (2 / math.pi) + rounding
        k, quadrant = t - rounding, t.bits().low_half()
        r = (wide - k * _LONG_PARTS[0] - k * _LONG_PARTS[1]).narrow(x.value.type)
    square = r * r
    sine = r * square * square.polynomial(SIN) + r
    cosine = square * square * square.polynomial(COS) + (square * -0.5 + 1.0)
    return sine, cosine, quadrant


def _turned(x: Number, quarter_turns: int, library: MathLibrary) -> Number:
    """sin(x + quarter_turns * pi / 2) for |x| <= 2**17."""
    sine, cosine, quadrant = _reduced(x, library)
    if quarter_turns:
        quadrant = quadrant + quarter_turns
    value = x.emitter.select((quadrant & 1).compare("==", 0), sine, cosine)
    return (value.bits() ^ ((quadrant & 2) << 30)).as_float()


def sin(x: Number, library: MathLibrary) -> Number:
    """The sine to 2 ulp for every argument."""
    usual = _turned(x, 0, library)
    # The reduction adds +0, which would turn the sine of -0 into +0.
    usual = x.emitter.select(x.compare("==", 0.0), x, usual)
    return library.guarded(usual, x.magnitude().compare("<=", _LIMIT), "sin", x)


def cos(x: Number, library: MathLibrary) -> Number:
    """The cosine to 2 ulp for every argument."""
    return library.guarded(_turned(x, 1, library), x.magnitude().compare("<=", _LIMIT), "cos", x)


def tan(x: Number, library: MathLibrary) -> Number:
    """The tangent to 4 ulp for every argument."""
    sine, cosine, quadrant = _reduced(x, library)
    select, odd = x.emitter.select, (quadrant & 1).compare("==", 1)
    usual = select(odd, cosine, sine) / select(odd, sine * -1.0, cosine)
    usual = select(x.compare("==", 0.0), x, usual)
    return library.guarded(usual, x.magnitude().compare("<=", _LIMIT), "tan", x)
