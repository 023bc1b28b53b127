"""A product of bf16 with sums in f32, as text."""

from __future__ import annotations

SUMS = """
#x = affine_map<(b, i, n, k) -> (b, i, k)>
#w = affine_map<(b, i, n, k) -> (k, n)>
#o = affine_map<(b, i, n, k) -> (b, i, n)>
!x = tensor<?x?x{depth}xbf16, #ragged.layout<"dr|d">>
!o = tensor<?x?x48xf32, #ragged.layout<"dr|d">>
func.func @f(%x: !x, %w: tensor<{depth}x48xbf16>) -> !o {{
  %zero = arith.constant 0.0 : f32
  %empty = ragged.empty %x {{from = [[0, 0], [0, 1], -1]}} : (!x) -> !o
  %start = linalg.fill ins(%zero : f32) outs(%empty : !o) -> !o
  %y = linalg.generic {{indexing_maps = [#x, #w, #o],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%x, %w : !x, tensor<{depth}x48xbf16>) outs(%start : !o) {{
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %wide_a = arith.extf %a : bf16 to f32
    %wide_b = arith.extf %b : bf16 to f32
    %p = arith.mulf %wide_a, %wide_b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }} -> !o
  return %y : !o
}}
"""
"""Rows of components of some depth times one table of weights."""
