// RUN: ragged-opt %s --pass-pipeline="builtin.module(ragged-decompose-attention{head-dims=16})" | FileCheck %s

!q = tensor<3x?x4x32xf32, #ragged.layout<"dr|d|d">>
!k = tensor<3x?x2x32xf32, #ragged.layout<"dr|d|d">>
!lse = tensor<3x?x4xf32, #ragged.layout<"dr|d">>

// Heads become groups, keys that are not seen -inf before the softmax and 0 after it.

// CHECK-LABEL: func.func @decomposed
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^%]*}}%[[K:[^:]*]]:
// CHECK-DAG: ragged.lengths %[[K]] {level = 1}
// CHECK-DAG: ragged.lengths %[[Q]] {level = 1}
// CHECK: tensor.expand_shape {{.*}} : tensor<?x4x32xf32> into tensor<?x2x2x32xf32>
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: %[[KEY:.*]] = linalg.index 4
// CHECK: arith.cmpi sle, %[[KEY]]
// CHECK: %[[W:.*]] = linalg.softmax dimension(4) {{.*}} -> tensor<3x?x2x2x?xf32, #ragged.layout<"drddr">>
// CHECK: linalg.generic {{.*}} ins(%[[W]], %{{.*}}, %{{.*}} :
// CHECK: arith.select
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: tensor.collapse_shape
// CHECK-NOT: math.log
func.func @decomposed(%q: !q, %k: !k, %v: !k) -> !q {
  %o, %lse = ragged.attention %q, %k, %v {scale = 1.0, keys = "causal_end"} : (!q, !k, !k) -> (!q, !lse)
  return %o : !q
}

!s = tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>

// Small head dims stay as they are.

// CHECK-LABEL: func.func @kept
// CHECK: ragged.attention
func.func @kept(%q: !s) -> !s {
  %o, %lse = ragged.attention %q, %q, %q {scale = 1.0} : (!s, !s, !s) -> (!s, !lse)
  return %o : !s
}
