"""Conversions between float types that hosts without the instructions call by name.

LLVM turns `fptrunc` and `fpext` of half and bfloat into calls of these functions where the
processor has no instruction for them; the JIT finds no library that has them all.
"""

from __future__ import annotations

from ragged_dialect.ptx.soft_float import ROUND_TO_BFLOAT

# Round to odd on the way: then rounding twice is rounding once.
_TO_ODD_FLOAT = """
define internal float @round_to_odd(double %x) {
  %near = fptrunc double %x to float
  %back = fpext float %near to double
  %exact = fcmp ueq double %back, %x
  %bits = bitcast float %near to i32
  %size = call double @llvm.fabs.f64(double %x)
  %near.size = call double @llvm.fabs.f64(double %back)
  %above = fcmp ogt double %near.size, %size
  %step = sext i1 %above to i32
  %below = add i32 %bits, %step
  %odd = or i32 %below, 1
  %chosen = select i1 %exact, i32 %bits, i32 %odd
  %result = bitcast i32 %chosen to float
  ret float %result
}
declare double @llvm.fabs.f64(double)

define bfloat @__truncdfbf2(double %x) {
  %y = call float @round_to_odd(double %x)
  %result = call bfloat @__truncsfbf2(float %y)
  ret bfloat %result
}

define half @__truncdfhf2(double %x) {
  %y = call float @round_to_odd(double %x)
  %result = call half @__truncsfhf2(float %y)
  ret half %result
}
"""

# The factor 2^112 moves the exponent of a float to where that of a half is; subnormals come out right.
_HALF_TO_FLOAT = """
define float @__extendhfsf2(half %x) {
  %short = bitcast half %x to i16
  %bits = zext i16 %short to i32
  %sign = and i32 %bits, 32768
  %sign.up = shl i32 %sign, 16
  %rest = and i32 %bits, 32767
  %rest.up = shl i32 %rest, 13
  %small = bitcast i32 %rest.up to float
  %scaled = fmul float %small, 0x46F0000000000000
  %finite = bitcast float %scaled to i32
  %special = or i32 %rest.up, 2139095040
  %is.special = icmp ugt i32 %rest, 31743
  %magnitude = select i1 %is.special, i32 %special, i32 %finite
  %all = or i32 %magnitude, %sign.up
  %result = bitcast i32 %all to float
  ret float %result
}
"""

# Below 2^-14 adding 0.5 leaves a half's mantissa, rounded, in the low bits of the float.
_FLOAT_TO_HALF = """
define half @__truncsfhf2(float %x) {
  %bits = bitcast float %x to i32
  %sign.down = lshr i32 %bits, 16
  %sign = and i32 %sign.down, 32768
  %size = and i32 %bits, 2147483647
  %size.float = bitcast i32 %size to float
  %shifted = fadd float %size.float, 0.5
  %shifted.bits = bitcast float %shifted to i32
  %small = sub i32 %shifted.bits, 1056964608
  %odd.down = lshr i32 %size, 13
  %odd = and i32 %odd.down, 1
  %bias = add i32 %odd, 3355447295
  %sum = add i32 %size, %bias
  %large = lshr i32 %sum, 13
  %is.small = icmp ult i32 %size, 947912704
  %finite = select i1 %is.small, i32 %small, i32 %large
  %is.large = icmp ugt i32 %size, 1199570943
  %limited = select i1 %is.large, i32 31744, i32 %finite
  %payload.down = lshr i32 %size, 13
  %payload = and i32 %payload.down, 511
  %quiet = or i32 %payload, 32256
  %is.nan = icmp ugt i32 %size, 2139095040
  %magnitude = select i1 %is.nan, i32 %quiet, i32 %limited
  %all = or i32 %magnitude, %sign
  %short = trunc i32 %all to i16
  %result = bitcast i16 %short to half
  ret half %result
}
"""

NAMES = ("__truncsfbf2", "__truncdfbf2", "__truncsfhf2", "__truncdfhf2", "__extendhfsf2")

CONVERSIONS = ROUND_TO_BFLOAT + _TO_ODD_FLOAT + _HALF_TO_FLOAT + _FLOAT_TO_HALF
"""LLVM IR of the functions of `NAMES`."""
