// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// What a score of its own is, of a product, of the numbers of component, head, query and key, and of a table around.

!q = tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>
!lse = tensor<3x?x4xf32, #ragged.layout<"dr|d">>

// CHECK-LABEL: func.func @score
// CHECK-SAME: %[[BIAS:[^:]*]]: tensor<4x?xf32>
// CHECK: ragged.attention %{{.*}}, %{{.*}}, %{{.*}} ({
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %{{.*}}: index, %[[H:.*]]: index, %{{.*}}: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[M:.*]] = tensor.extract %[[BIAS]][%[[H]], %[[J]]] : tensor<4x?xf32>
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[S]], %[[M]] : f32
// CHECK-NEXT: ragged.yield %[[SUM]] : (f32) -> ()
// CHECK-NEXT: }) {keys = "causal", scale = 2.500000e-01 : f64}
func.func @score(%bias: tensor<4x?xf32>, %q: !q) -> (!q, !lse) {
  %o, %lse = ragged.attention %q, %q, %q ({
  ^bb0(%score: f32, %component: index, %head: index, %query: index, %key: index):
    %more = tensor.extract %bias[%head, %key] : tensor<4x?xf32>
    %sum = arith.addf %score, %more : f32
    ragged.yield %sum : (f32) -> ()
  }) {scale = 2.500000e-01, keys = "causal"} : (!q, !q, !q) -> (!q, !lse)
  return %o, %lse : !q, !lse
}

// Of derivatives, also what it grows by. An empty region is left out.

// CHECK-LABEL: func.func @derivative
// CHECK: ragged.yield %{{.*}}, %{{.*}} : (f32, f32) -> ()
// CHECK: ragged.attention_vjp_q %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {scale = 1.000000e+00 : f64}
func.func @derivative(%q: !q, %lse: !lse, %up: !q, %delta: !lse) -> (!q, !q) {
  %dq = ragged.attention_vjp_q %q, %q, %q, %lse, %up, %delta ({
  ^bb0(%score: f32, %component: index, %head: index, %query: index, %key: index):
    %two = arith.constant 2.0 : f32
    %twice = arith.mulf %score, %two : f32
    ragged.yield %twice, %two : (f32, f32) -> ()
  }) {scale = 1.0} : (!q, !q, !q, !lse, !q, !lse) -> !q
  %plain = ragged.attention_vjp_q %q, %q, %q, %lse, %up, %delta ({}) {scale = 1.0} : (!q, !q, !q, !lse, !q, !lse) -> !q
  return %dq, %plain : !q, !q
}
