// RUN: ragged-opt %s --pass-pipeline="builtin.module(convert-ragged-to-scf)" | FileCheck %s

// Blocks of queries of all components in one forall: the component by bisection, scores in vectors, nothing of the size
// of queries times keys.

!q = tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>
!k = tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>
!lse = tensor<3x?x4xf32, #ragged.layout<"dr|d">>

// CHECK-LABEL: func.func @attention
// CHECK: scf.forall (%{{.*}}) in (%{{.*}}) shared_outs(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<?x4x16xf32>, tensor<?x4xf32>)
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<64x16xf32>
// CHECK: bufferization.to_buffer %{{.*}} read_only : tensor<?x2x16xf32> to memref<?x2x16xf32, strided<[?, ?, ?], offset: ?>>
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<1x[[W:[0-9]+]]xf32>
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

// The derivatives: queries along the lanes, which have the saved numbers of each, and keys, which have one of them for
// all lanes; both heads of queries add to those of keys. Exponentials are of differences from the saved sums.

// CHECK-LABEL: func.func @vjp_q
// CHECK: scf.forall (%{{.*}}) in (%{{.*}}) shared_outs(%{{.*}} = %{{.*}}) -> (tensor<?x4x16xf32>)
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<1x[[W:[0-9]+]]xf32>
// CHECK: tensor.extract %{{.*}} : tensor<?x4xf32>
// CHECK: scf.for
// CHECK: arith.subf %{{.*}} : vector<[[W]]xf32>
// CHECK-NOT: math.exp
// CHECK: scf.forall.in_parallel
func.func @vjp_q(%q: !q, %k: !k, %v: !k, %lse: !lse, %up: !q, %delta: !lse) -> !q {
  %r = ragged.attention_vjp_q %q, %k, %v, %lse, %up, %delta {scale = 1.0, keys = "causal"} : (!q, !k, !k, !lse, !q, !lse) -> !q
  return %r : !q
}

// CHECK-LABEL: func.func @vjp_kv
// CHECK: scf.forall (%{{.*}}) in (%{{.*}}) shared_outs(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<?x2x16xf32>, tensor<?x2x16xf32>)
// CHECK: scf.for %{{.*}} = %{{.*}} to %c2
// CHECK: tensor.extract %{{.*}} : tensor<?x4xf32>
// CHECK: vector.broadcast %{{.*}} : f32 to vector<[[W:[0-9]+]]xf32>
// CHECK: arith.subf %{{.*}} : vector<[[W]]xf32>
// CHECK: scf.forall.in_parallel
func.func @vjp_kv(%q: !q, %k: !k, %v: !k, %lse: !lse, %up: !q, %delta: !lse) -> (!k, !k) {
  %r:2 = ragged.attention_vjp_kv %k, %v, %q, %lse, %up, %delta {scale = 1.0, keys = "causal"} : (!k, !k, !q, !lse, !q, !lse) -> (!k, !k)
  return %r#0, %r#1 : !k, !k
}

// Values that have no cotangent have no sums.

// CHECK-LABEL: func.func @vjp_k
// CHECK: scf.forall (%{{.*}}) in (%{{.*}}) shared_outs(%{{.*}} = %{{.*}}) -> (tensor<?x2x16xf32>)
func.func @vjp_k(%q: !q, %k: !k, %v: !k, %lse: !lse, %up: !q, %delta: !lse) -> !k {
  %r:2 = ragged.attention_vjp_kv %k, %v, %q, %lse, %up, %delta {scale = 1.0} : (!k, !k, !q, !lse, !q, !lse) -> (!k, !k)
  return %r#0 : !k
}

// A score of its own is made in scratch, element by element. What it reads lies along keys, and queries lie along
// lanes: a square of it is turned in registers before.

// CHECK-LABEL: func.func @scored
// CHECK-SAME: %[[BIAS:[^:]*]]: tensor<4x?x?xf32>
// CHECK: vector.transfer_read %[[BIAS]][%{{.*}}, %{{.*}}, %{{.*}}], %{{.*}} : tensor<4x?x?xf32>, vector<[[N:[0-9]+]]xf32>
// CHECK: vector.shuffle
// CHECK: vector.store %{{.*}}, %[[STAGED:[a-z0-9_]+]][%{{.*}}, %{{.*}}]
// CHECK-DAG: %[[MORE:.*]] = memref.load %[[STAGED]][%[[J:.*]], %[[I:.*]]]
// CHECK-DAG: %[[SUM:.*]] = arith.addf %{{.*}}, %[[MORE]] : f32
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[J]], %[[I]]]
// CHECK-NOT: tensor.extract %[[BIAS]]
func.func @scored(%bias: tensor<4x?x?xf32>, %q: !q, %k: !k, %v: !k) -> !q {
  %o, %lse = ragged.attention %q, %k, %v ({
  ^bb0(%score: f32, %component: index, %head: index, %query: index, %key: index):
    %more = tensor.extract %bias[%head, %query, %key] : tensor<4x?x?xf32>
    %sum = arith.addf %score, %more : f32
    ragged.yield %sum : (f32) -> ()
  }) {scale = 1.0} : (!q, !k, !k) -> (!q, !lse)
  return %o : !q
}
