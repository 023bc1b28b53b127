// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// A tangent is like its operand.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!k = tensor<3x?x1x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @attention_0(%q: !q, %k: !k, %l: !l) {
  // expected-error@+1 {{'ragged.attention_jvp' op expected tk type tensor<3x?x1x4xf32, #ragged.layout<"dr|d|d">>, got tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>}}
  %0:2 = ragged.attention_jvp %q, %k, %k, %q, %l, %q, %q, %k {scale = 1.0} : (!q, !k, !k, !q, !l, !q, !q, !k) -> (!q, !l)
  return
}
