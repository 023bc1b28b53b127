// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Cotangents are not of windows, which may overlap.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!w = tensor<3x?x2x4xf32, #ragged.layout<"dw|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @attention_0(%q: !q, %w: !w, %l: !l) {
  // expected-error@+1 {{'ragged.attention_vjp_kv' op expected k of layout "dr|d|d", got "dw|d|d"}}
  %0:2 = ragged.attention_vjp_kv %w, %w, %q, %l, %q, %l {scale = 1.0} : (!w, !w, !q, !l, !q, !l) -> (!w, !w)
  return
}
