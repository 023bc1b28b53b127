"""pow of f32 and f64: a logarithm to base 2 and its product with the exponent that are sums of two of their type."""

from __future__ import annotations

import math
from decimal import Decimal

from ragged_dialect._mlir import arith, ir
from ragged_dialect._mlir import math as math_ops
from ragged_dialect.lowering.math.emitter import EXACT, LN2, Number, two_parts, with_sign_of
from ragged_dialect.lowering.math.exponential import exp2_of_sum, type_of
from ragged_dialect.lowering.math.logarithm import exponent_and_fraction, log2

_THIRD = EXACT.divide(1, Decimal(3))

Sum = tuple[Number, Number]
"""A number and what is left, which is below an ulp of it or a few."""


def power(x: Number, y: Number, fuses: bool) -> Number:
    """`x ** y` to 1 ulp. As C says it: 1 for y = 0 and for x = 1, NaN for a negative x unless y is an integer. Of f32
    only unless fused multiply-adds are instructions: it goes through f64 then."""
    emitter, a = x.emitter, x.magnitude()

    def both(p: ir.Value, q: ir.Value) -> ir.Value:
        return emitter.plain(arith.andi, p, q)

    def either(p: ir.Value, q: ir.Value) -> ir.Value:
        return emitter.plain(arith.ori, p, q)

    def whole(z: Number) -> ir.Value:
        return z.compare("==", emitter.number(emitter.float(math_ops.trunc, z.value)))

    if fuses:
        found = exp2_of_sum(*_times(_log2(a), y))
    else:
        found = exp2_of_sum(log2(a.widen()) * y.widen(), None).narrow(x.value.type)
    # Whole, and its half is not: of two bits the first is the larger one.
    is_odd = emitter.plain(arith.cmpi, arith.CmpIPredicate.ugt, whole(y), whole(y * 0.5))
    signed = emitter.select(is_odd, with_sign_of(found, x), found)
    is_power = either(either(whole(y), x.compare(">=", 0.0)), a.compare("==", math.inf))
    one = either(
        either(y.compare("==", 0.0), x.compare("==", 1.0)),
        both(a.compare("==", 1.0), y.magnitude().compare("==", math.inf)),
    )
    return emitter.select(one, 1.0, emitter.select(is_power, signed, math.nan))


def _log2(a: Number) -> Sum:
    """The logarithm to base 2 of a >= 0: 2 atanh(s) / ln 2 for s = f / (2 + f), and the exponent. Taylor's terms from
    s**5 / 5 on, below 2**-12 of the sum, are numbers; what is left out is less than 2**-39 of it, of f64 2**-70."""
    own, select = type_of(a), a.emitter.select
    k, f = exponent_and_fraction(a)
    divisor = f + 2.0
    inverse = 1.0 / divisor
    high = f * inverse
    s = high, ((high * -1.0).fused(divisor, f) - high * (f - (divisor - 2.0))) * inverse
    square = _product(s, s)
    (third, third_low), factor = (two_parts(part, own.mantissa - 1) for part in (_THIRD, EXACT.divide(2, LN2)))
    tail = square[0] * square[0].polynomial([1 / (2 * n + 1) for n in range(2, 13 if a.is_long else 7)]) + third_low
    first = _product(s, (a.constant(factor[0]), a.constant(factor[1])))
    rest = _product(first, _product(square, _sum(a.constant(third), tail)))
    total, left = _sum(first[0], rest[0])
    high, low = _sum(k, total)
    low = low + (left + (first[1] + rest[1]))
    return select(a.compare("==", 0.0), -math.inf, select(a.compare("<", math.inf), high, a)), low


def _product(x: Sum, y: Sum) -> Sum:
    high = x[0] * y[0]
    return high, x[0].fused(y[0], high * -1.0) + (x[0] * y[1] + x[1] * y[0])


def _sum(x: Number, y: Number) -> Sum:
    """Of x that is larger, or 0."""
    high = x + y
    return high, (x - high) + y


def _times(x: Sum, y: Number) -> Sum:
    """A product; nothing is left of one whose power of 2 is 0 or infinite."""
    high = x[0] * y
    low = x[0].fused(y, high * -1.0) + x[1] * y
    return high, high.emitter.select(high.magnitude().compare("<", 2.0**11), low, 0.0)
