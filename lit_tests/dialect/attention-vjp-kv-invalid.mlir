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

// -----

// Heads of keys that calls know are as many as those of queries, which upstream has.
!q = tensor<3x?x?x4xf32, #ragged.layout<"dr|d|d">>
!k = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!o = tensor<3x?x4x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x?xf32, #ragged.layout<"dr|d">>
func.func @heads(%q: !q, %k: !k, %l: !l, %o: !o) {
  // expected-error@+1 {{expected equal heads of k and upstream, got 2 and 4}}
  %0:2 = ragged.attention_vjp_kv %k, %k, %q, %l, %o, %l {scale = 1.0} : (!k, !k, !q, !l, !o, !l) -> (!k, !k)
  return
}
