// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// One dim per storage axis.

// CHECK-LABEL: func.func @one_axis
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>)
// CHECK: %[[R:.*]] = ragged.values %[[X]] : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<?x8xf32>
// CHECK: return %[[R]] : tensor<?x8xf32>
func.func @one_axis(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<?x8xf32> {
  %0 = ragged.values %x : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @two_axes
// CHECK-SAME: (%[[X:.*]]: tensor<2x?x8x?x4xf32, #ragged.layout<"dr|dr|d">>)
// CHECK: %[[R:.*]] = ragged.values %[[X]] : (tensor<2x?x8x?x4xf32, #ragged.layout<"dr|dr|d">>) -> tensor<?x?x4xf32>
// CHECK: return %[[R]] : tensor<?x?x4xf32>
func.func @two_axes(%x: tensor<2x?x8x?x4xf32, #ragged.layout<"dr|dr|d">>) -> tensor<?x?x4xf32> {
  %0 = ragged.values %x : (tensor<2x?x8x?x4xf32, #ragged.layout<"dr|dr|d">>) -> tensor<?x?x4xf32>
  return %0 : tensor<?x?x4xf32>
}
