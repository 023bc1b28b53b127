"""Rounding to bfloat16 for hosts whose compilers and libraries lack it.

LLVM turns `fptrunc` to bfloat into a call of this function where the processor has no instruction for it;
C compilers bring it since GCC 13 only, and a JIT finds no library that has it.
"""

from __future__ import annotations

BFLOAT_ROUNDING = "__truncsfbf2"

ROUND_TO_BFLOAT = f"""
define bfloat @{BFLOAT_ROUNDING}(float %x) {{
  %bits = bitcast float %x to i32
  %high = lshr i32 %bits, 16
  %odd = and i32 %high, 1
  %bias = add i32 %odd, 32767
  %sum = add i32 %bits, %bias
  %rounded = lshr i32 %sum, 16
  %quiet = or i32 %high, 64
  %nan = fcmp uno float %x, %x
  %chosen = select i1 %nan, i32 %quiet, i32 %rounded
  %short = trunc i32 %chosen to i16
  %result = bitcast i16 %short to bfloat
  ret bfloat %result
}}
"""
