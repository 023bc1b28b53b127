"""log, log2, log10 and log1p of f32 and f64, and asinh, acosh and atanh of f32, in straight-line arithmetic of their
type.

`x = 2**k * m` with m in [sqrt(1/2), sqrt(2)), so that no cancellation happens next to x = 1. The
polynomials are derived by benchmarks/math_coefficients.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from ragged_dialect.lowering.math.emitter import EXACT, LN2, Number, two_parts, with_sign_of
from ragged_dialect.lowering.math.exponential import type_of

_SQRT_HALF_BITS, _SQRT_HALF_BITS_F64 = 0x3F3504F3, 0x3FE6A09E667F3BCD

LOG = (0.3333333, -0.2500082, 0.20001242, -0.16623409, 0.1420158, -0.1315961, 0.12762217, -0.07636439)
ATANH_LONG = tuple(2 / (2 * k + 1) for k in range(1, 12))
"""Taylor's terms of `(2 * atanh(s) / s - 2) / s**2` as a function of s**2."""

ATANH_SMALL = (0.333333, 0.20002605, 0.14221144, 0.118369, 0.05087205, 0.1773585)


def _special(x: Number, result: Number) -> Number:
    """`result` for positive finite x; inf and NaN go through, zero gives -inf, the rest NaN."""
    select = x.emitter.select
    finite = select(x.compare("<", math.inf), result, x)
    pole = select(x.compare("==", 0.0), finite.emitter.number(finite.same(-math.inf)), math.nan)
    return select(x.compare("<=", 0.0), pole, finite)


@dataclass(frozen=True)
class Parts:
    """x = 2**k * (1 + f), and `rest` such that log(1 + f) is f less that."""

    k: Number
    f: Number
    rest: Number

    @staticmethod
    def of(x: Number) -> Parts:
        """Those of a positive number, subnormal ones included."""
        k, f = exponent_and_fraction(x)
        if not x.is_long:
            square = f * f
            return Parts(k, f, square * 0.5 - square * f * f.polynomial(LOG))
        s = f / (f + 2.0)
        square, half = s * s, f * f * 0.5
        return Parts(k, f, half - s * (half + square * square.polynomial(ATANH_LONG)))

    def logarithm(self, base: Decimal, more: Number | None = None) -> Number:
        """That to a base whose natural logarithm is given, with `more` added to the natural one of 1 + f."""
        high, low = two_parts(EXACT.divide(LN2, base), type_of(self.k).split)
        factor = 1 / float(base)
        whole = 2.0 ** math.floor(math.log2(factor))  # its product with f is exact
        small = self.rest * -factor if more is None else (more - self.rest) * factor
        for number, part in ((self.f, float(EXACT.subtract(EXACT.divide(1, base), Decimal(whole)))), (self.k, low)):
            small = number * part + small if part else small
        return self.k * high + (self.f * whole + small)


def exponent_and_fraction(x: Number) -> tuple[Number, Number]:
    """Of a positive number `2**k * m`, subnormal ones included: k, and m - 1.

    Shifts are logical and the integer becomes a float through the exponent field: AVX2 has neither 64-bit arithmetic
    shifts nor 64-bit conversions.
    """
    own, emitter = type_of(x), x.emitter
    mantissa, one = own.mantissa, own.bias + 1
    tiny = x.compare("<", 2.0 ** (1 - own.bias))
    bits = emitter.select(tiny, x * 2.0 ** (mantissa + 2), x).bits()
    sqrt_half = _SQRT_HALF_BITS_F64 if x.is_long else _SQRT_HALF_BITS
    biased = (bits - (sqrt_half - (one << mantissa))) >> mantissa
    f = (bits - (biased << mantissa) + (one << mantissa)).as_float() - 1.0
    exponents = 2.0**mantissa + one
    bias = emitter.select(tiny, exponents + mantissa + 2, emitter.number(x.same(exponents)))
    return (biased + ((own.bias + mantissa) << mantissa)).as_float() - bias, f


def _logarithm(x: Number, base: int | None) -> Number:
    return _special(x, Parts.of(x).logarithm(Decimal(1) if base is None else Decimal(base).ln(EXACT)))


def log(x: Number) -> Number:
    """The natural logarithm to 2 ulp, subnormal arguments included."""
    return _logarithm(x, None)


def log2(x: Number) -> Number:
    """The logarithm to base 2 to 2 ulp, exact for powers of 2."""
    return _logarithm(x, 2)


def log10(x: Number) -> Number:
    """The logarithm to base 10 to 2 ulp."""
    return _logarithm(x, 10)


def log1p(x: Number, rest: Number | float = 0.0) -> Number:
    """`log(1 + x)` to 2 ulp, with the sign of a zero; or of x with a rest that it was rounded by."""
    sum_ = x + 1.0
    lost = x - (sum_ - 1.0)
    lost = (lost if rest == 0.0 else lost + rest) / sum_
    result = _special(sum_, Parts.of(sum_).logarithm(Decimal(1), lost))
    return x.emitter.select(x.compare("==", 0.0), x, result)


def atanh(x: Number) -> Number:
    """Odd polynomial below a half, else `log((1 + |x|) / (1 - |x|)) / 2`; 2 ulp."""
    a = x.magnitude()
    square = a * a
    small = a * square * square.polynomial(ATANH_SMALL) + a
    large = log((a + 1.0) / (1.0 - a)) * 0.5
    return with_sign_of(x.emitter.select(a.compare("<", 0.5), small, large), x)


def asinh(x: Number) -> Number:
    """`log1p(a + a**2 / (1 + sqrt(a**2 + 1)))` for a = |x|; of f32 to 2 ulp."""
    a = x.magnitude()
    square = a * a
    return with_sign_of(_log1p_or_double(a, a + square / ((square + 1.0).square_root() + 1.0)), x)


def acosh(x: Number) -> Number:
    """`log1p(a + sqrt(a**2 + 2 a))` for a = x - 1; of f32 to 2 ulp."""
    a = x - 1.0
    root = (a * a + a * 2.0).square_root()
    u = a + root
    found = _log1p_or_double(x, u, a - (u - root))
    return x.emitter.select(x.compare("<", 1.0), math.nan, found)


def _log1p_or_double(x: Number, u: Number, rest: Number | float = 0.0) -> Number:
    """`log1p(u + rest)` of f32, or from 2**13 on the logarithm of 2 x, of which 1 / (2 x)**2 is nothing."""
    is_large, select = x.compare(">", 2.0**13), x.emitter.select
    rest = rest if rest == 0.0 else select(is_large, 0.0, rest)
    return log1p(select(is_large, x - 1.0, u), rest) + select(is_large, x.constant(math.log(2)), 0.0)
