// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

!q = tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>
!k = tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>
!lse = tensor<3x?x4xf32, #ragged.layout<"dr|d">>

// CHECK-LABEL: func.func @cotangents(
// CHECK-SAME: %[[Q:[^:]*]]: {{[^%]*}}%[[K:[^:]*]]: {{[^%]*}}%[[V:[^:]*]]: {{[^%]*}}%[[L:[^:]*]]:
// CHECK: ragged.attention_vjp_kv %[[K]], %[[V]], %[[Q]], %[[L]], %[[Q]], %[[L]] {scale = 2.500000e-01 : f64, softcap = 5.000000e+00 : f64}
func.func @cotangents(%q: !q, %k: !k, %v: !k, %lse: !lse) -> (!k, !k) {
  %d:2 = ragged.attention_vjp_kv %k, %v, %q, %lse, %q, %lse {scale = 2.500000e-01, softcap = 5.0}
    : (!k, !k, !q, !lse, !q, !lse) -> (!k, !k)
  return %d#0, %d#1 : !k, !k
}
