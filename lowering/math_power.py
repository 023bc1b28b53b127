"""pow of f32: the logarithm to base 2 and its product with the exponent in f64, the power of 2 in f32."""

from __future__ import annotations

import math

from ragged_dialect._mlir import arith, ir
from ragged_dialect._mlir import math as math_ops
from ragged_dialect.lowering.math_emitter import Number
from ragged_dialect.lowering.math_exponential import exp2_of_long
from ragged_dialect.lowering.math_logarithm import log2


def power(x: Number, y: Number) -> Number:
    """`x ** y` to 2 ulp, to 1 with fused multiply-adds. As C says it: 1 for y = 0 and for x = 1, NaN for a negative x
    unless y is an integer."""
    emitter, a = x.emitter, x.magnitude()

    def both(p: ir.Value, q: ir.Value) -> ir.Value:
        return emitter.plain(arith.andi, p, q)

    def either(p: ir.Value, q: ir.Value) -> ir.Value:
        return emitter.plain(arith.ori, p, q)

    def whole(z: Number) -> ir.Value:
        return z.compare("==", emitter.number(emitter.float(math_ops.trunc, z.value)))

    found = exp2_of_long(log2(a.widen()) * y.widen(), x.value.type)
    # Whole, and its half is not: of two bits the first is the larger one.
    is_odd = emitter.plain(arith.cmpi, arith.CmpIPredicate.ugt, whole(y), whole(y * 0.5))
    signed = emitter.select(both(x.bits().compare("<", 0), is_odd), found * -1.0, found)
    is_power = either(either(whole(y), x.compare(">=", 0.0)), a.compare("==", math.inf))
    one = either(
        either(y.compare("==", 0.0), x.compare("==", 1.0)),
        both(a.compare("==", 1.0), y.magnitude().compare("==", math.inf)),
    )
    return emitter.select(one, 1.0, emitter.select(is_power, signed, math.nan))
