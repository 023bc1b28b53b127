// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// Queries and keys have lengths of their own; two heads of queries share one of keys.

!q = tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>
!k = tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>
!lse = tensor<3x?x4xf32, #ragged.layout<"dr|d">>

// CHECK-LABEL: func.func @attention
// CHECK-SAME: (%[[Q:.*]]: tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>, %[[K:.*]]: tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>, %[[V:.*]]: tensor<3x?x2x16xf32
// CHECK: %[[R:.*]]:2 = ragged.attention %[[Q]], %[[K]], %[[V]] {keys = "causal", scale = 2.500000e-01 : f64} : (tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>) -> (tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x4xf32, #ragged.layout<"dr|d">>)
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @attention(%q: !q, %k: !k, %v: !k) -> (!q, !lse) {
  %o, %lse = ragged.attention %q, %k, %v {scale = 2.500000e-01, keys = "causal"} : (!q, !k, !k) -> (!q, !lse)
  return %o, %lse : !q, !lse
}

// Keys as windows over a cache; short floats have a long sum.

!s = tensor<?x?x1x?xbf16, #ragged.layout<"dr|d|d">>
!w = tensor<?x?x1x?xbf16, #ragged.layout<"dw|d|d">>
!sum = tensor<?x?x1xf32, #ragged.layout<"dr|d">>

// CHECK-LABEL: func.func @windows
// CHECK: ragged.attention %{{.*}}, %{{.*}}, %{{.*}} {keys = "window_end<8, -1>", scale = 1.000000e+00 : f64} : (tensor<?x?x1x?xbf16, #ragged.layout<"dr|d|d">>, tensor<?x?x1x?xbf16, #ragged.layout<"dw|d|d">>, tensor<?x?x1x?xbf16, #ragged.layout<"dw|d|d">>)
func.func @windows(%q: !s, %k: !w) -> (!s, !sum) {
  %o, %lse = ragged.attention %q, %k, %k {scale = 1.0, keys = "window_end<8, -1>"} : (!s, !w, !w) -> (!s, !sum)
  return %o, %lse : !s, !sum
}
