// RUN: ragged-opt %s --pass-pipeline="builtin.module(ragged-insert-checks,canonicalize,cse)" | FileCheck %s

// The indices of the score of an attention are checked in front of it, over all pairs of queries and keys; the score
// itself is not computed for that.

!q = tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>
!lse = tensor<3x?x4xf32, #ragged.layout<"dr|d">>

// CHECK-LABEL: func.func @score
// CHECK-SAME: %[[BIAS:[^:]*]]: tensor<?x?xf32>
// CHECK: %[[PAIRS:.*]] = ragged.empty {{.*}} -> tensor<3x?x?x4xf32, #ragged.layout<"drr|d">>
// CHECK: %[[ENDS:.*]]:3 = linalg.generic {{.*}}ins(%[[PAIRS]], %[[PAIRS]] :
// CHECK: linalg.index 3
// CHECK: linalg.index 2
// CHECK: arith.muli
// CHECK-NOT: arith.addf
// CHECK: linalg.yield
// CHECK: ragged.assert_valid %{{.*}}, %{{.*}} {kind = "index", level = 0, op = "tensor.extract"}
// CHECK: ragged.assert_valid %{{.*}}, %{{.*}} {kind = "index", level = 1, op = "tensor.extract"}
// CHECK: ragged.attention
// CHECK-NOT: ragged.assert_valid
// CHECK: return
func.func @score(%bias: tensor<?x?xf32>, %q: !q) -> (!q, !lse) {
  %c2 = arith.constant 2 : index
  %o, %lse = ragged.attention %q, %q, %q ({
  ^bb0(%score: f32, %component: index, %head: index, %query: index, %key: index):
    %twice = arith.muli %key, %c2 : index
    %more = tensor.extract %bias[%head, %twice] : tensor<?x?xf32>
    %sum = arith.addf %score, %more : f32
    ragged.yield %sum : (f32) -> ()
  }) {scale = 2.500000e-01} : (!q, !q, !q) -> (!q, !lse)
  return %o, %lse : !q, !lse
}

// What reads nothing needs no check.

// CHECK-LABEL: func.func @numbers
// CHECK-NOT: linalg
// CHECK: return
func.func @numbers(%q: !q) -> (!q, !lse) {
  %o, %lse = ragged.attention %q, %q, %q ({
  ^bb0(%score: f32, %component: index, %head: index, %query: index, %key: index):
    %twice = arith.addf %score, %score : f32
    ragged.yield %twice : (f32) -> ()
  }) {scale = 2.500000e-01} : (!q, !q, !q) -> (!q, !lse)
  return %o, %lse : !q, !lse
}
