// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// Every kind of dim that splits.

// CHECK-LABEL: func.func @ragged
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>)
// CHECK: %[[R:.*]] = ragged.split %[[X]] {dim = 1, factor = 16} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x16x8xf32, #ragged.layout<"drt|d">>
// CHECK: return %[[R]] : tensor<3x?x16x8xf32, #ragged.layout<"drt|d">>
func.func @ragged(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x16x8xf32, #ragged.layout<"drt|d">> {
  %0 = ragged.split %x {dim = 1, factor = 16}
      : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x16x8xf32, #ragged.layout<"drt|d">>
  return %0 : tensor<3x?x16x8xf32, #ragged.layout<"drt|d">>
}

// CHECK-LABEL: func.func @window
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dw">>)
// CHECK: %[[R:.*]] = ragged.split %[[X]] {dim = 1, factor = 2} : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?x2xf32, #ragged.layout<"dwt">>
// CHECK: return %[[R]] : tensor<3x?x2xf32, #ragged.layout<"dwt">>
func.func @window(%x: tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?x2xf32, #ragged.layout<"dwt">> {
  %0 = ragged.split %x {dim = 1, factor = 2}
      : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?x2xf32, #ragged.layout<"dwt">>
  return %0 : tensor<3x?x2xf32, #ragged.layout<"dwt">>
}

// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[X:.*]]: tensor<6xf32>)
// CHECK: %[[R:.*]] = ragged.split %[[X]] {dim = 0, factor = 4} : (tensor<6xf32>) -> tensor<2x4xf32, #ragged.layout<"dt">>
// CHECK: return %[[R]] : tensor<2x4xf32, #ragged.layout<"dt">>
func.func @plain(%x: tensor<6xf32>) -> tensor<2x4xf32, #ragged.layout<"dt">> {
  %0 = ragged.split %x {dim = 0, factor = 4} : (tensor<6xf32>) -> tensor<2x4xf32, #ragged.layout<"dt">>
  return %0 : tensor<2x4xf32, #ragged.layout<"dt">>
}

// CHECK-LABEL: func.func @batch
// CHECK-SAME: (%[[X:.*]]: tensor<4x?xf32, #ragged.layout<"dr">>)
// CHECK: %[[R:.*]] = ragged.split %[[X]] {dim = 0, factor = 2} : (tensor<4x?xf32, #ragged.layout<"dr">>) -> tensor<2x2x?xf32, #ragged.layout<"ddr">>
// CHECK: return %[[R]] : tensor<2x2x?xf32, #ragged.layout<"ddr">>
func.func @batch(%x: tensor<4x?xf32, #ragged.layout<"dr">>) -> tensor<2x2x?xf32, #ragged.layout<"ddr">> {
  %0 = ragged.split %x {dim = 0, factor = 2}
      : (tensor<4x?xf32, #ragged.layout<"dr">>) -> tensor<2x2x?xf32, #ragged.layout<"ddr">>
  return %0 : tensor<2x2x?xf32, #ragged.layout<"ddr">>
}

// CHECK-LABEL: func.func @tile
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"drt">>)
// CHECK: %[[R:.*]] = ragged.split %[[X]] {dim = 2, factor = 4} : (tensor<3x?x8xf32, #ragged.layout<"drt">>) -> tensor<3x?x2x4xf32, #ragged.layout<"drtt">>
// CHECK: return %[[R]] : tensor<3x?x2x4xf32, #ragged.layout<"drtt">>
func.func @tile(%x: tensor<3x?x8xf32, #ragged.layout<"drt">>) -> tensor<3x?x2x4xf32, #ragged.layout<"drtt">> {
  %0 = ragged.split %x {dim = 2, factor = 4}
      : (tensor<3x?x8xf32, #ragged.layout<"drt">>) -> tensor<3x?x2x4xf32, #ragged.layout<"drtt">>
  return %0 : tensor<3x?x2x4xf32, #ragged.layout<"drtt">>
}

// CHECK-LABEL: func.func @outer
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"drt">>)
// CHECK: %[[R:.*]] = ragged.split %[[X]] {dim = 1, factor = 3} : (tensor<3x?x8xf32, #ragged.layout<"drt">>) -> tensor<3x?x3x8xf32, #ragged.layout<"drtt">>
// CHECK: return %[[R]] : tensor<3x?x3x8xf32, #ragged.layout<"drtt">>
func.func @outer(%x: tensor<3x?x8xf32, #ragged.layout<"drt">>) -> tensor<3x?x3x8xf32, #ragged.layout<"drtt">> {
  %0 = ragged.split %x {dim = 1, factor = 3}
      : (tensor<3x?x8xf32, #ragged.layout<"drt">>) -> tensor<3x?x3x8xf32, #ragged.layout<"drtt">>
  return %0 : tensor<3x?x3x8xf32, #ragged.layout<"drtt">>
}
