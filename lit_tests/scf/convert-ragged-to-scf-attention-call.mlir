// RUN: ragged-opt %s --pass-pipeline="builtin.module(convert-ragged-to-scf{tensor-cores=true})" | FileCheck %s
// RUN: ragged-opt %s --pass-pipeline="builtin.module(ragged-to-gpu-pipeline{check=false})" | FileCheck %s --check-prefix=GPU

// A call for each component, of the rows that it has, which one kernel becomes. A sum that nobody reads has no room.

!q = tensor<3x?x4x16xf16, #ragged.layout<"dr|d|d">>
!k = tensor<3x?x2x16xf16, #ragged.layout<"dr|d|d">>
!lse = tensor<3x?x4xf32, #ragged.layout<"dr|d">>

// The score of the last function below.
// CHECK: func.func private @ragged_attention_score
// CHECK-SAME: (%[[S:.*]]: f32, %{{.*}}: index, %[[H:.*]]: index, %{{.*}}: index, %[[J:.*]]: index, %[[BIAS:.*]]: memref<4x?xf32>) -> f32
// CHECK: %[[MORE:.*]] = memref.load %[[BIAS]][%[[H]], %[[J]]]
// CHECK: %[[SUM:.*]] = arith.addf %[[S]], %[[MORE]] : f32
// CHECK: return %[[SUM]] : f32

// CHECK: func.func private @ragged_attention(memref<?x4x16xf16>, memref<?x2x16xf16>, memref<?x2x16xf16>, memref<?x4x16xf16>, index, index, index, index, index)
// CHECK-LABEL: func.func @attention
// CHECK: %[[O:.*]] = memref.alloc(%{{.*}}) : memref<?x4x16xf16>
// CHECK-NOT: memref.alloc
// CHECK: scf.forall (%[[B:.*]]) in (3)
// CHECK: tensor.extract %{{.*}}[%[[B]]]
// CHECK: func.call @ragged_attention(%{{.*}}, %{{.*}}, %{{.*}}, %[[O]], {{.*}}) {ragged.keys = "window<3, 2>", ragged.of = "ragged.attention", ragged.results = array<i32: 0>, ragged.scale = 2.500000e-01 : f64, ragged.segments = array<i32: 1, 2, 0, 1, 0>, ragged.softcap = 2.000000e+00 : f64}
// CHECK: bufferization.to_tensor %[[O]] restrict writable

// GPU-LABEL: func.func @attention
// GPU: memref.alloc(%{{.*}}) : memref<?x4x16xf16>
// GPU: gpu.launch_func
// GPU-NOT: gpu.launch_func
func.func @attention(%q: !q, %k: !k, %v: !k) -> !q {
  %o, %lse = ragged.attention %q, %k, %v {scale = 0.25, keys = "window<3, 2>", softcap = 2.0} : (!q, !k, !k) -> (!q, !lse)
  return %o : !q
}

// Of the cotangents of keys and values the own rows are keys: those see queries the other way round. One kernel makes
// both, or, where a thread has too few registers, one each.

// CHECK-LABEL: func.func @keys_and_values
// CHECK-DAG: %[[DK:.*]] = memref.alloc(%{{.*}}) : memref<?x2x16xf16>
// CHECK-DAG: %[[DV:.*]] = memref.alloc(%{{.*}}) : memref<?x2x16xf16>
// CHECK: scf.forall
// CHECK: func.call @ragged_attention_{{[0-9]+}}({{.*}}%[[DK]], %[[DV]], {{.*}}) {ragged.keys = "window<2, 3>", ragged.of = "ragged.attention_vjp_kv", ragged.results = array<i32: 0, 1>, ragged.scale = 2.500000e-01 : f64, ragged.segments = array<i32: 2, 2, 2, 2, 0>}

// GPU-LABEL: func.func @keys_and_values
// GPU: gpu.launch_func
// GPU-NOT: gpu.launch_func
// GPU-LABEL: func.func @of_many_features
// GPU-COUNT-2: gpu.launch_func
// GPU-NOT: gpu.launch_func
// GPU-LABEL: func.func @scored
// GPU: gpu.launch_func
// GPU-NOT: gpu.launch_func
// GPU: gpu.module @kernels
// GPU: nvvm.ldmatrix
// GPU: nvvm.mma.sync
func.func @keys_and_values(%k: !k, %v: !k, %q: !q, %lse: !lse, %upstream: !q, %delta: !lse) -> (!k, !k) {
  %dk, %dv = ragged.attention_vjp_kv %k, %v, %q, %lse, %upstream, %delta {scale = 0.25, keys = "window<3, 2>"}
    : (!k, !k, !q, !lse, !q, !lse) -> (!k, !k)
  return %dk, %dv : !k, !k
}

!wide = tensor<3x?x4x96xf16, #ragged.layout<"dr|d|d">>
func.func @of_many_features(%x: !wide, %lse: !lse, %delta: !lse) -> (!wide, !wide) {
  %dk, %dv = ragged.attention_vjp_kv %x, %x, %x, %lse, %x, %delta {scale = 0.25}
    : (!wide, !wide, !wide, !lse, !wide, !lse) -> (!wide, !wide)
  return %dk, %dv : !wide, !wide
}

// A score of its own is a function beside, of buffers, whose body becomes a part of the kernel.

// CHECK-LABEL: func.func @scored
// CHECK: func.call @ragged_attention_{{[0-9]+}}({{.*}}) {{{.*}}ragged.score = @ragged_attention_score, ragged.segments = array<i32: 1, 2, 0, 1, 1>}
func.func @scored(%bias: tensor<4x?xf32>, %q: !q, %k: !k, %v: !k) -> !q {
  %o, %lse = ragged.attention %q, %k, %v ({
  ^bb0(%score: f32, %component: index, %head: index, %query: index, %key: index):
    %more = tensor.extract %bias[%head, %key] : tensor<4x?xf32>
    %sum = arith.addf %score, %more : f32
    ragged.yield %sum : (f32) -> ()
  }) {scale = 1.0} : (!q, !k, !k) -> (!q, !lse)
  return %o : !q
}
