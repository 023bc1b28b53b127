"""cbrt of f32 and f64 in straight-line arithmetic of their type, without divisions.

`x = 2**(3 q + r) * m` with r of -1, 0 or 1. w is next to the inverse of the root of `2**r * m`: what a polynomial
guesses to 2**-11, times two terms of the series of `(1 - e)**(-1/3)` for `e = 1 - 2**r * m * w**3`. A step of Newton's
method, which squares what is left, 2**-31, ends at the root. The polynomial is derived by
benchmarks/math_coefficients.py.
"""

from __future__ import annotations

import math

from ragged_dialect.lowering.math.emitter import Number, with_sign_of
from ragged_dialect.lowering.math.exponential import type_of
from ragged_dialect.lowering.math.logarithm import exponent_and_fraction

CBRT = (0.9997786, -0.33466998, 0.23772147, -0.15853986)

_THIRD = 2 ** (1 / 3)
# Through 2**(-r / 3), and 2**r.
_ROOTS = (1.0, (1 / _THIRD - _THIRD) / 2, (1 / _THIRD + _THIRD) / 2 - 1.0)
_POWERS = (1.0, 0.75, 0.25)


def cbrt(x: Number) -> Number:
    """The cube root to 1 ulp."""
    own, select, a = type_of(x), x.emitter.select, x.magnitude()
    k, f = exponent_and_fraction(a)
    rounding = own.round + own.bias
    t = k * (1 / 3) + rounding
    r = k - (t - rounding) * 3.0
    m = (f + 1.0) * r.polynomial(_POWERS)
    w = f.polynomial(CBRT) * r.polynomial(_ROOTS)
    e = 1.0 - m * w * (w * w)
    w = w * e * (e * (2 / 9) + 1 / 3) + w
    square = w * w
    y = m * square
    y = y - (y * y * y - m) * (square * (1 / 3))
    root = with_sign_of(y * (t.bits() << own.mantissa).as_float(), x)
    return select(x.compare("==", 0.0), x, select(a.compare("<", math.inf), root, x))
