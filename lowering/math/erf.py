"""erf of f32 in straight-line f32 arithmetic: `1 - 2**q(|x|)`, with a polynomial for the logarithm."""

from __future__ import annotations

from ragged_dialect.lowering.math.emitter import Number, with_sign_of
from ragged_dialect.lowering.math.exponential import one_less_exp2

# log2(1 - erf(a)) / a on [0, 3.95]
LOG_ERFC = (
    -1.627907,
    -0.9184476,
    -0.14827684,
    0.027630452,
    0.00023521009,
    -0.0024094626,
    0.00091569603,
    -0.00017054017,
    1.3451439e-05,
)


def erf(x: Number) -> Number:
    """The error function to 1.1 ulp."""
    a = x.magnitude().at_most(3.95)
    return with_sign_of(one_less_exp2(a * a.polynomial(LOG_ERFC)), x)
