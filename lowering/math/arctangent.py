"""atan and atan2 of f32 and f64 in straight-line arithmetic of their type.

Of a / b an odd polynomial of t up to tan(pi / 8): of a / b, of `(a - b) / (a + b)` around 1, where pi / 4 is added, and
of `-b / a`, where pi / 2 is. The polynomials are derived by benchmarks/math_coefficients.py.
"""

from __future__ import annotations

import math

from ragged_dialect.lowering.math.emitter import Number, with_sign_of
from ragged_dialect.lowering.math.exponential import type_of
from ragged_dialect.lowering.math.library import MathLibrary
from ragged_dialect.lowering.math.trigonometry import half_pi

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
