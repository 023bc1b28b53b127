// RUN: ragged-opt %s --pass-pipeline="builtin.module(convert-ragged-to-scf)" --split-input-file --verify-diagnostics
// RUN: ragged-opt %s --pass-pipeline="builtin.module(convert-ragged-to-scf{tensor-cores=true})" --split-input-file --verify-diagnostics

// The kernel is made for its head dims.
!q = tensor<3x?x1x?xf32, #ragged.layout<"dr|d|d">>
func.func @dynamic(%q: !q) -> !q {
  // expected-error@+1 {{'ragged.attention' op expected static head dims (run ragged-decompose-attention)}}
  %o, %lse = ragged.attention %q, %q, %q {scale = 1.0} : (!q, !q, !q) -> (!q, tensor<3x?x1xf32, #ragged.layout<"dr|d">>)
  return %o : !q
}

// -----

// Tangents have no kernel.
!q = tensor<3x?x1x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x1xf32, #ragged.layout<"dr|d">>
func.func @tangents(%q: !q, %l: !l) -> !q {
  // expected-error@+1 {{'ragged.attention_jvp' op expected attention with a kernel, got its tangents (run ragged-decompose-attention)}}
  %to, %tl = ragged.attention_jvp %q, %q, %q, %q, %l, %q, %q, %q {scale = 1.0} : (!q, !q, !q, !q, !l, !q, !q, !q) -> (!q, !l)
  return %to : !q
}
