// RUN: ragged-opt %s --pass-pipeline="builtin.module(convert-ragged-to-scf)" --split-input-file --verify-diagnostics

// A kernel has as many vectors of a row in registers and on the stack.
!x = tensor<3x?x4x4294967296xf16, #ragged.layout<"dr|d|d">>
!lse = tensor<3x?x4xf32, #ragged.layout<"dr|d">>
func.func @of_many_features(%x: !x, %lse: !lse) -> (!x, !x) {
  // expected-error@+1 {{'ragged.attention_vjp_kv' op expected head dims of at most 480, got [4294967296, 4294967296, 4294967296] (run ragged-decompose-attention)}}
  %dk, %dv = ragged.attention_vjp_kv %x, %x, %x, %lse, %x, %lse {scale = 0.25} : (!x, !x, !x, !lse, !x, !lse) -> (!x, !x)
  return %dk, %dv : !x, !x
}
