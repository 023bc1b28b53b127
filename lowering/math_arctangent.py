"""atan of f32 and f64 in straight-line arithmetic of their type.

An odd polynomial of t up to tan(pi / 8): of |x|, of `(|x| - 1) / (|x| + 1)` around 1, where pi / 4 is added, and of
`-1 / |x|`, where pi / 2 is. The polynomials are derived by benchmarks/math_coefficients.py.
"""

from __future__ import annotations

import math

from ragged_dialect.lowering.math_emitter import Number, with_sign_of
from ragged_dialect.lowering.math_exponential import type_of
from ragged_dialect.lowering.math_trigonometry import half_pi

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
    a, select = x.magnitude(), x.emitter.select
    is_small, is_large = a.compare("<", _EIGHTH), a.compare(">", 1 / _EIGHTH)
    above = select(is_small, a, select(is_large, -1.0, a - 1.0))
    t = above / select(is_small, 1.0, select(is_large, a, a + 1.0))
    high, low = (
        select(is_small, 0.0, select(is_large, a.constant(part), part / 2)) for part in half_pi(type_of(x).mantissa)
    )
    square = t * t
    tail = t * square * square.polynomial(ATAN_LONG if x.is_long else ATAN) + low
    return with_sign_of(high + (t + tail), x)
