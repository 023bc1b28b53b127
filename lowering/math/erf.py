"""erf of f32 in straight-line f32 arithmetic: an odd polynomial, and `1 - exp(-q(|x|))` beyond 0.9."""

from __future__ import annotations

from ragged_dialect.lowering.math.emitter import Number, with_sign_of
from ragged_dialect.lowering.math.exponential import exp_in_range

ERF = (0.12837917, -0.37612632, 0.112836815, -0.026859023, 0.005200722, -0.00081441575, 8.3922605e-05)
# -log(erfc(a)) on [0.9, 3.95]
ERFC = (-0.00016920331, 1.1294883, 0.6334011, 0.10821994, -0.02508019, 0.004156033, -0.00043133466, 2.0822401e-05)
_SMALL = 0.9


def erf(x: Number) -> Number:
    """The error function to 2 ulp."""
    a = x.magnitude()
    square = x * x
    small = a * square.polynomial(ERF) + a
    large = 1.0 - exp_in_range(a.at_most(3.95).polynomial(ERFC) * -1.0)
    return with_sign_of(x.emitter.select(a.compare("<", _SMALL), small, large), x)
