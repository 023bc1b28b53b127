"""asin and acos of f32 in straight-line f32 arithmetic.

An odd polynomial up to a half; beyond, with `z = (1 - |x|) / 2`, which is exact,
`asin(|x|) = pi / 2 - 2 asin(sqrt(z))`.
"""

from __future__ import annotations

import math

from ragged_dialect.lowering.math_emitter import Number, with_sign_of

ASIN = (0.16666754, 0.07495252, 0.04547604, 0.02415209, 0.042211805)

_HALF_PI = float.fromhex("0x1.921fb6p+0")
_HALF_PI_LOW = math.pi / 2 - _HALF_PI


def _small(x: Number) -> tuple[Number, Number, Number]:
    """(root, tail, a): `asin(root) = root + tail`, for root = |x| up to a half, the square root of z beyond; |x|."""
    a = x.magnitude()
    is_small = a.compare("<=", 0.5)
    z = x.emitter.select(is_small, a * a, (1.0 - a) * 0.5)
    root = x.emitter.select(is_small, a, z.square_root())
    return root, root * z * z.polynomial(ASIN), a


def asin(x: Number) -> Number:
    """The arcsine to 2 ulp."""
    root, tail, a = _small(x)
    large = _HALF_PI - ((root * 2.0 - _HALF_PI_LOW) + tail * 2.0)
    return with_sign_of(x.emitter.select(a.compare("<=", 0.5), root + tail, large), x)


def acos(x: Number) -> Number:
    """The arccosine to 2 ulp."""
    select = x.emitter.select
    root, tail, a = _small(x)
    of_small = with_sign_of(root, x), with_sign_of(tail, x)
    small = _HALF_PI - (of_small[0] - (_HALF_PI_LOW - of_small[1]))
    twice = (root + tail) * 2.0
    rest = 2 * _HALF_PI - ((root * 2.0 - 2 * _HALF_PI_LOW) + tail * 2.0)
    large = select(x.compare("<", 0.0), rest, twice)
    return select(a.compare("<=", 0.5), small, large)
