"""sin, cos and tan of f32 and f64 in arithmetic of their type, with a guarded library call for huge arguments.

The reduction is `r = x - k * pi / 2` with pi / 2 in three parts of all the bits that the type has and fused multiply-
adds. The first of them is exact: what it leaves is a multiple of 2**-23 (f64: 2**-52) below 1. The second rounds r
once. The third part is below 2**-49 (2**-109): what it takes from r counts, and is rounded, only where r is so small
that it is its own sine, for |x| up to 2**17 (2**27); f32 goes on to 2**20, where the worst of all words is 1.8 ulp
(from there to 2**21 it is 2.1). What is left out is below 2**-76 (2**-162) for each k, where r is 2**-29 (2**-61) or
more. k is off by what 2 / pi is as f32: |r| is up to 1.007 * pi / 4. Without an instruction for
fused multiply-adds f32 is reduced in f64. Larger arguments (and infinities and NaN) take a call behind an `scf.if`;
the function called has masked vector variants, so that the loop is one of vectors all the same.
"""

from __future__ import annotations

import math
from decimal import Decimal

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.math.emitter import EXACT, Bits, Number
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
