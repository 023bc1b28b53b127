"""asin and acos of f32 and f64 in straight-line arithmetic of their type.

An odd polynomial up to a half; beyond, with `z = (1 - |x|) / 2`, which is exact,
`asin(|x|) = pi / 2 - 2 asin(sqrt(z))`.
"""

from __future__ import annotations

from ragged_dialect.lowering.math.emitter import Number, with_sign_of
from ragged_dialect.lowering.math.exponential import type_of
from ragged_dialect.lowering.math.trigonometry import half_pi

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


def _small(x: Number) -> tuple[Number, Number, Number]:
    """(root, tail, a): `asin(root) = root + tail`, for root = |x| up to a half, the square root of z beyond; |x|."""
    a = x.magnitude()
    is_small = a.compare("<=", 0.5)
    z = x.emitter.select(is_small, a * a, (1.0 - a) * 0.5)
    root = x.emitter.select(is_small, a, z.square_root())
    return root, root * z * z.polynomial(ASIN_LONG if x.is_long else ASIN), a


def asin(x: Number) -> Number:
    """The arcsine to 2 ulp."""
    root, tail, a = _small(x)
    half_pi_high, half_pi_low = half_pi(type_of(x).mantissa)
    large = half_pi_high / 2 - ((root * 2.0 - half_pi_high / 2) + (tail * 2.0 - half_pi_low))
    return with_sign_of(x.emitter.select(a.compare("<=", 0.5), root + tail, large), x)


def acos(x: Number) -> Number:
    """The arccosine to 2 ulp."""
    select = x.emitter.select
    root, tail, a = _small(x)
    half_pi_high, half_pi_low = half_pi(type_of(x).mantissa)
    of_small = with_sign_of(root, x), with_sign_of(tail, x)
    small = half_pi_high - (of_small[0] - (half_pi_low - of_small[1]))
    twice = (root + tail) * 2.0
    rest = 2 * half_pi_high - ((root * 2.0 - 2 * half_pi_low) + tail * 2.0)
    large = select(x.compare("<", 0.0), rest, twice)
    return select(a.compare("<=", 0.5), small, large)
