"""fmod of f32 and f64 by one division, with a guarded library call for quotients that the type does not hold.

Where the whole part of the quotient is below 2**24 (f64: 2**53) it is exact, but for 1 where the quotient is rounded up
to an integer: what is left then is below 0, by less than the divisor. What is left has no bits below those of the
divisor, so a fused multiply-add gives it exactly.
"""

from __future__ import annotations

import math as numbers

from ragged_dialect._mlir import arith, math
from ragged_dialect.lowering.math.emitter import Number, with_sign_of
from ragged_dialect.lowering.math.library import MathLibrary


def fmod(x: Number, y: Number, library: MathLibrary) -> Number:
    """What is left of x by whole multiples of y, with the sign of x: exact."""
    emitter, a, b = x.emitter, x.magnitude(), y.magnitude()
    whole = emitter.number(emitter.plain(math.trunc, (a / b).value))
    left = (whole * -1.0).fused(b, a)
    left = emitter.select(left.compare("<", 0.0), left + b, left)
    exact = whole.compare("<", 2.0 ** (53 if x.is_long else 24))
    is_usual = emitter.plain(arith.andi, exact, b.compare("<", numbers.inf))
    return library.guarded(with_sign_of(left, x), is_usual, "fmod", x, y)
