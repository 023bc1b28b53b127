// RUN: ragged-opt %s --pass-pipeline="builtin.module(convert-ragged-to-scf)" | FileCheck %s

// Blocks of queries of all components in one forall: the component by bisection, scores in vectors, nothing of the size
// of queries times keys.

!q = tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>
!k = tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>
!lse = tensor<3x?x4xf32, #ragged.layout<"dr|d">>

// CHECK-LABEL: func.func @attention
// CHECK: scf.forall (%{{.*}}) in (%{{.*}}) shared_outs(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<?x4x16xf32>, tensor<?x4xf32>)
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<16x[[W:[0-9]+]]xf32>
// CHECK: scf.while
// CHECK: vector.broadcast %{{.*}} : f32 to vector<[[W]]xf32>
// CHECK: arith.cmpi sge, %{{.*}} : vector<[[W]]xi32>
// CHECK: scf.forall.in_parallel
func.func @attention(%q: !q, %k: !k, %v: !k) -> (!q, !lse) {
  %o, %lse = ragged.attention %q, %k, %v {scale = 1.0, keys = "causal"} : (!q, !k, !k) -> (!q, !lse)
  return %o, %lse : !q, !lse
}

// A sum that nobody reads is not stored.

// CHECK-LABEL: func.func @output
// CHECK: scf.forall (%{{.*}}) in (%{{.*}}) shared_outs(%{{.*}} = %{{.*}}) -> (tensor<?x4x16xf32>)
func.func @output(%q: !q, %k: !k, %v: !k) -> !q {
  %o, %lse = ragged.attention %q, %k, %v {scale = 1.0} : (!q, !k, !k) -> (!q, !lse)
  return %o : !q
}
