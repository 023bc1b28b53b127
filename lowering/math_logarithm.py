"""log and atanh of f32 in f32 arithmetic; log2, log10 and log1p of f32, and log to log1p of f64, in f64 arithmetic;
straight-line.

`x = 2**k * m` with m in [sqrt(1/2), sqrt(2)), so that no cancellation happens next to x = 1. The
polynomials are derived by benchmarks/math_coefficients.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ragged_dialect.lowering.math_emitter import Bits, Number, with_sign_of
from ragged_dialect.lowering.math_exponential import LN2_REST

_LN2_HIGH = round(math.log(2) * 2**15) / 2**15
_LN2_LOW = math.log(2) - _LN2_HIGH
_SQRT_HALF_BITS = 0x3F3504F3
_SQRT_HALF_BITS_F64 = 0x3FE6A09E667F3BCD

LOG = (0.3333333, -0.2500082, 0.20001242, -0.16623409, 0.1420158, -0.1315961, 0.12762217, -0.07636439)
ATANH_LONG = tuple(2 / (2 * k + 1) for k in range(1, 12))
"""Taylor's terms of what ATANH approximates."""

ATANH_SMALL = (0.333333, 0.20002605, 0.14221144, 0.118369, 0.05087205, 0.1773585)
ATANH = (0.6666666563655683, 0.40000337387858464, 0.285371586179802, 0.23585176279448145)


def _special(x: Number, result: Number) -> Number:
    """`result` for positive finite x; inf and NaN go through, zero gives -inf, the rest NaN."""
    select = x.emitter.select
    finite = select(x.compare("<", math.inf), result, x)
    pole = select(x.compare("==", 0.0), finite.emitter.number(finite.same(-math.inf)), math.nan)
    return select(x.compare("<=", 0.0), pole, finite)


def _exponent_and_fraction(bits: Bits) -> tuple[Bits, Number]:
    """Of a normal f64 `2**k * m`: k + 1024, and m - 1."""
    biased = (bits - (_SQRT_HALF_BITS_F64 - (1024 << 52))) >> 52
    return biased, (bits - (biased << 52) + (1024 << 52)).as_float() - 1.0


@dataclass(frozen=True)
class _Parts:
    """x = 2**k * (1 + f) of f64, and `rest` such that log(1 + f) is f less that."""

    k: Number
    f: Number
    rest: Number

    @staticmethod
    def of(x: Number) -> _Parts:
        """Those of a positive number, subnormal ones included."""
        emitter = x.emitter
        tiny = x.compare("<", 2.0**-1022)
        bits = emitter.select(tiny, x * 2.0**54, x).bits()
        biased, f = _exponent_and_fraction(bits)
        bias = emitter.select(tiny, 2.0**52 + 1024 + 54, emitter.number(x.same(2.0**52 + 1024)))
        s = f / (f + 2.0)
        square, half = s * s, f * f * 0.5
        rest = half - s * (half + square * square.polynomial(ATANH_LONG))
        return _Parts((biased + 0x4330000000000000).as_float() - bias, f, rest)

    def natural(self, more: Number | float = 0.0) -> Number:
        """The natural logarithm, with `more` added to that of 1 + f."""
        high = round(math.log(2) * 2**40) / 2**40
        low = self.k * ((math.log(2) - high) + LN2_REST) + more
        return self.k * high + (self.f - (self.rest - low))

    def decimal(self) -> Number:
        """The logarithm to base 10."""
        high = round(math.log10(2) * 2**40) / 2**40
        low = self.k * ((math.log10(2) - high) - 2.8037281277851704e-18)
        return self.k * high + (low + (self.f - self.rest) * math.log10(math.e))

    def binary(self) -> Number:
        """The logarithm to base 2."""
        return self.k + (self.f - self.rest) * (1 / math.log(2))


def log(x: Number) -> Number:
    """The natural logarithm to 2 ulp, subnormal arguments included."""
    if x.is_long:
        return _special(x, _Parts.of(x).natural())
    emitter = x.emitter
    tiny = x.compare("<", 2.0**-126)
    bits = emitter.select(tiny, x * 2.0**23, x).bits()
    biased = (bits - (_SQRT_HALF_BITS - (128 << 23))) >> 23
    f = (bits - (biased << 23) + (128 << 23)).as_float() - 1.0
    bias = emitter.select(tiny, 128.0 + 23.0, emitter.number(x.same(128.0)))
    k = biased.to_float() - bias
    square = f * f
    rest = square * f * f.polynomial(LOG) + k * _LN2_LOW - square * 0.5
    return _special(x, k * _LN2_HIGH + (f + rest))


def _wide(u: Number, exact: Number | None, scale: float, exponent_scale: float) -> Number:
    """`exponent_scale * k + scale * log(m)` in f64 for u > 0; relative error below 2**-36.

    Where k is 0, `exact` stands for u - 1 (u may be rounded). Shifts are logical and the integer
    becomes a float through the exponent field: AVX2 has neither 64-bit arithmetic shifts nor
    64-bit conversions.
    """
    biased, f = _exponent_and_fraction(u.bits())
    if exact is not None:
        f = u.emitter.select(biased.compare("==", 1024), exact, f)
    k = (biased + 0x4330000000000000).as_float() - (2.0**52 + 1024)
    s = f / (f + 2.0)
    square = s * s
    return k * exponent_scale + s * (square * (square.polynomial(ATANH) * scale) + 2.0 * scale)


def log2(x: Number) -> Number:
    """The logarithm to base 2 to 1 ulp, of f64 2."""
    if x.is_long:
        return _special(x, _Parts.of(x).binary())
    return log2_of_single(x).narrow(x.value.type)


def log2_of_single(x: Number) -> Number:
    """The logarithm to base 2 of f32 as f64, to 2**-36 of it."""
    wide = x.widen()
    return _special(wide, _wide(wide, None, 1 / math.log(2), 1.0))


def log10(x: Number) -> Number:
    """The logarithm to base 10 to 1 ulp, of f64 2."""
    if x.is_long:
        return _special(x, _Parts.of(x).decimal())
    wide = _wide(x.widen(), None, 1 / math.log(10), math.log10(2))
    return _special(x, wide.narrow(x.value.type))


def log1p(x: Number) -> Number:
    """`log(1 + x)` to 1 ulp, with the sign of a zero."""
    if x.is_long:
        sum_ = x + 1.0
        lost = (x - (sum_ - 1.0)) / sum_
        result = _special(sum_, _Parts.of(sum_).natural(lost))
        return x.emitter.select(x.compare("==", 0.0), x, result)
    exact = x.widen()
    wide = _wide(exact + 1.0, exact, 1.0, math.log(2))
    result = _special(exact + 1.0, wide).narrow(x.value.type)
    return x.emitter.select(x.compare("==", 0.0), x, result)


def atanh(x: Number) -> Number:
    """Odd polynomial below a half, else `log((1 + |x|) / (1 - |x|)) / 2`; 2 ulp."""
    a = x.magnitude()
    square = a * a
    small = a * square * square.polynomial(ATANH_SMALL) + a
    large = log((a + 1.0) / (1.0 - a)) * 0.5
    return with_sign_of(x.emitter.select(a.compare("<", 0.5), small, large), x)
