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

// So do derivatives, but for tangents, which have no kernel. Sums over queries are over the inner dim.

// CHECK-LABEL: func.func @derivatives
// CHECK-NOT: ragged.attention_jvp
// CHECK: math.exp
// CHECK: ragged.attention_vjp_kv
func.func @derivatives(%q: !s, %lse: !lse) -> (!s, !s) {
  %to:2 = ragged.attention_jvp %q, %q, %q, %q, %lse, %q, %q, %q {scale = 1.0} : (!s, !s, !s, !s, !lse, !s, !s, !s) -> (!s, !lse)
  %d:2 = ragged.attention_vjp_kv %q, %q, %q, %lse, %to#0, %lse {scale = 1.0} : (!s, !s, !s, !lse, !s, !lse) -> (!s, !s)
  return %d#0, %d#1 : !s, !s
}

// CHECK-LABEL: func.func @vjp_q
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<3x?x2x2x?xf32, #ragged.layout<"drddr">>)
// CHECK: math.exp
// CHECK: tensor.collapse_shape
func.func @vjp_q(%q: !q, %k: !k, %v: !k, %lse: !lse) -> !q {
  %d = ragged.attention_vjp_q %q, %k, %v, %lse, %q, %lse {scale = 1.0, keys = "causal"} : (!q, !k, !k, !lse, !q, !lse) -> !q
  return %d : !q
}

// CHECK-LABEL: func.func @vjp_kv
// CHECK: math.exp
// CHECK: linalg.index 1
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<3x?x2x32xf32, #ragged.layout<"dr|d|d">>)
func.func @vjp_kv(%q: !q, %k: !k, %v: !k, %lse: !lse) -> (!k, !k) {
  %d:2 = ragged.attention_vjp_kv %k, %v, %q, %lse, %q, %lse {scale = 1.0, keys = "causal"} : (!k, !k, !q, !lse, !q, !lse) -> (!k, !k)
  return %d#0, %d#1 : !k, !k
}

// Extents that one operand has static are those of all: the op stays, for a kernel with static head dims.
// CHECK-LABEL: func.func @settled
// CHECK: %[[K:.*]] = tensor.cast %{{.*}} : tensor<3x?x2x?xf32, #{{.*}}> to tensor<3x?x2x16xf32
// CHECK: ragged.attention %{{.*}}, %[[K]], %{{.*}} -> (tensor<3x?x4x16xf32, {{.*}}>, tensor<3x?x4xf32
func.func @settled(%q: tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>, %k: tensor<3x?x2x?xf32, #ragged.layout<"dr|d|d">>, %v: tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>) -> tensor<3x?x?x?xf32, #ragged.layout<"dr|d|d">> {
  %o, %lse = ragged.attention %q, %k, %v {scale = 1.0} : (tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x2x?xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>) -> (tensor<3x?x?x?xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x?xf32, #ragged.layout<"dr|d">>)
  return %o : tensor<3x?x?x?xf32, #ragged.layout<"dr|d|d">>
}

// RUN: ragged-opt %s --pass-pipeline="builtin.module(ragged-decompose-attention{head-dims=128 tensor-cores=true})" | FileCheck %s --check-prefix=CORES

// What tensor cores can do stays: multiples of 16, of f32 up to three quarters of the head dims.

!h = tensor<3x?x4x32xf16, #ragged.layout<"dr|d|d">>
!odd = tensor<3x?x4x24xf16, #ragged.layout<"dr|d|d">>
!large = tensor<3x?x4x112xf32, #ragged.layout<"dr|d|d">>

// CORES-LABEL: func.func @of_f16
// CORES: ragged.attention
func.func @of_f16(%q: !h) -> !h {
  %o, %lse = ragged.attention %q, %q, %q {scale = 1.0} : (!h, !h, !h) -> (!h, !lse)
  return %o : !h
}

// CORES-LABEL: func.func @odd
// CORES-NOT: ragged.attention
// CORES: linalg.softmax
func.func @odd(%q: !odd) -> !odd {
  %o, %lse = ragged.attention %q, %q, %q {scale = 1.0} : (!odd, !odd, !odd) -> (!odd, !lse)
  return %o : !odd
}

// CORES-LABEL: func.func @large
// CORES-NOT: ragged.attention
// CORES: linalg.softmax
func.func @large(%q: !large) -> !large {
  %o, %lse = ragged.attention %q, %q, %q {scale = 1.0} : (!large, !large, !large) -> (!large, !lse)
  return %o : !large
}

// Without heads there is nothing to share among keys.
!none = tensor<3x?x0x32xf16, #ragged.layout<"dr|d|d">>
!none_lse = tensor<3x?x0xf32, #ragged.layout<"dr|d">>

// CORES-LABEL: func.func @no_heads
// CORES-NOT: ragged.attention
// CORES: linalg.softmax
func.func @no_heads(%q: !none) -> !none {
  %o, %lse = ragged.attention %q, %q, %q {scale = 1.0} : (!none, !none, !none) -> (!none, !none_lse)
  return %o : !none
}

// A score of its own is made in an op over all pairs, of the numbers of their loops; where it is -inf, no key is seen:
// a number far below all others stands for it, so that weights of no key at all are numbers, which are 0 in the end.

// CHECK-LABEL: func.func @scored
// CHECK-SAME: %[[BIAS:[^:]*]]: tensor<4x?xf32>
// CHECK: %[[PRODUCTS:.*]] = linalg.generic {{.*}}"reduction"]}
// CHECK: %[[SCORES:.*]] = linalg.generic {{.*}}ins(%[[PRODUCTS]] :
// CHECK-DAG: %[[HEAD:.*]] = linalg.index 2
// CHECK-DAG: %[[KEY:.*]] = linalg.index 3
// CHECK: %[[MORE:.*]] = tensor.extract %[[BIAS]][%[[HEAD]], %[[KEY]]]
// CHECK: arith.addf %{{.*}}, %[[MORE]]
// CHECK: %[[LOW:.*]] = linalg.generic {{.*}}ins(%[[SCORES]] :
// CHECK: arith.cmpf oeq
// CHECK: arith.select
// CHECK: %[[WEIGHTS:.*]] = linalg.softmax dimension(3) ins(%[[LOW]] :
// CHECK: linalg.generic {{.*}}ins(%[[WEIGHTS]], %[[SCORES]] :
// CHECK: arith.cmpf oeq
// CHECK: arith.select
func.func @scored(%bias: tensor<4x?xf32>, %q: tensor<3x?x4x32xf32, #ragged.layout<"dr|d|d">>) -> tensor<3x?x4x32xf32, #ragged.layout<"dr|d|d">> {
  %o, %lse = ragged.attention %q, %q, %q ({
  ^bb0(%score: f32, %component: index, %head: index, %query: index, %key: index):
    %more = tensor.extract %bias[%head, %key] : tensor<4x?xf32>
    %sum = arith.addf %score, %more : f32
    ragged.yield %sum : (f32) -> ()
  }) {scale = 2.500000e-01} : (tensor<3x?x4x32xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x4x32xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x4x32xf32, #ragged.layout<"dr|d|d">>) -> (tensor<3x?x4x32xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x4xf32, #ragged.layout<"dr|d">>)
  return %o : tensor<3x?x4x32xf32, #ragged.layout<"dr|d|d">>
}
