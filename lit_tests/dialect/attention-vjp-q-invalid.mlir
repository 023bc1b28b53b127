// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// A cotangent is like its operand.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @attention_0(%q: !q, %l: !l) {
  // expected-error@+1 {{'ragged.attention_vjp_q' op expected dq type tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>, got tensor<3x?x2xf32, #ragged.layout<"dr|d">>}}
  %0 = ragged.attention_vjp_q %q, %q, %q, %l, %q, %l {scale = 1.0} : (!q, !q, !q, !l, !q, !l) -> !l
  return
}

// -----

// What is saved of short floats is long.
!q = tensor<3x?x2x4xf16, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf16, #ragged.layout<"dr|d">>
func.func @attention_1(%q: !q, %l: !l) {
  // expected-error@+1 {{'ragged.attention_vjp_q' op expected lse type tensor<3x?x2xf32, #ragged.layout<"dr|d">>, got tensor<3x?x2xf16, #ragged.layout<"dr|d">>}}
  %0 = ragged.attention_vjp_q %q, %q, %q, %l, %q, %l {scale = 1.0} : (!q, !q, !q, !l, !q, !l) -> !q
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
  %0 = ragged.attention_vjp_q %q, %k, %k, %l, %o, %l {scale = 1.0} : (!q, !k, !k, !l, !o, !l) -> !q
  return
}
