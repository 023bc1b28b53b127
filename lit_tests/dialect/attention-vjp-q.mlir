// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

!q = tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>
!k = tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>
!lse = tensor<3x?x4xf32, #ragged.layout<"dr|d">>

// CHECK-LABEL: func.func @cotangents(
// CHECK-SAME: %[[Q:[^:]*]]: {{[^%]*}}%[[K:[^:]*]]: {{[^%]*}}%[[V:[^:]*]]: {{[^%]*}}%[[L:[^:]*]]:
// CHECK: ragged.attention_vjp_q %[[Q]], %[[K]], %[[V]], %[[L]], %[[Q]], %[[L]] {keys = "window<3, 4>", scale = 2.500000e-01 : f64}
func.func @cotangents(%q: !q, %k: !k, %v: !k, %lse: !lse) -> !q {
  %dq = ragged.attention_vjp_q %q, %k, %v, %lse, %q, %lse {scale = 2.500000e-01, keys = "window<3, 4>"}
    : (!q, !k, !k, !lse, !q, !lse) -> !q
  return %dq : !q
}
