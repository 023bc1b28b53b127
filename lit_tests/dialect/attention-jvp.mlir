// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

!q = tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>
!k = tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>
!lse = tensor<3x?x4xf32, #ragged.layout<"dr|d">>

// CHECK-LABEL: func.func @tangents
// CHECK: %[[T:.*]]:2 = ragged.attention_jvp %{{.*}} {keys = "causal", scale = 2.500000e-01 : f64}
// CHECK: return %[[T]]#0, %[[T]]#1
func.func @tangents(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !lse) -> (!q, !lse) {
  %to, %tlse = ragged.attention_jvp %q, %k, %v, %o, %lse, %q, %k, %v {scale = 2.500000e-01, keys = "causal"}
    : (!q, !k, !k, !q, !lse, !q, !k, !k) -> (!q, !lse)
  return %to, %tlse : !q, !lse
}
