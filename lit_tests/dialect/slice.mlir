// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// Sub-batches, parts of every component, ranges of a dense dim.

// CHECK-LABEL: func.func @batch
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[LO:.*]]: index, %[[HI:.*]]: index)
// CHECK: %[[R:.*]] = ragged.slice %[[X]], %[[LO]], %[[HI]] {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>, index, index) -> tensor<?x?xf32, #ragged.layout<"dr">>
// CHECK: return %[[R]] : tensor<?x?xf32, #ragged.layout<"dr">>
func.func @batch(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %lo: index, %hi: index) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.slice %x, %lo, %hi {dim = 0}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, index, index) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<?x?xf32, #ragged.layout<"dr">>
}

// CHECK-LABEL: func.func @ragged_by_scalars
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %[[LO:.*]]: i64, %[[HI:.*]]: i32)
// CHECK: %[[R:.*]] = ragged.slice %[[X]], %[[LO]], %[[HI]] {dim = 1} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, i64, i32) -> tensor<3x?x8xf32, #ragged.layout<"dw|d">>
// CHECK: return %[[R]] : tensor<3x?x8xf32, #ragged.layout<"dw|d">>
func.func @ragged_by_scalars(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %lo: i64, %hi: i32) -> tensor<3x?x8xf32, #ragged.layout<"dw|d">> {
  %0 = ragged.slice %x, %lo, %hi {dim = 1}
      : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, i64, i32) -> tensor<3x?x8xf32, #ragged.layout<"dw|d">>
  return %0 : tensor<3x?x8xf32, #ragged.layout<"dw|d">>
}

// CHECK-LABEL: func.func @ragged_by_vectors
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %[[LO:.*]]: tensor<3xi64>, %[[HI:.*]]: tensor<3xi32>)
// CHECK: %[[R:.*]] = ragged.slice %[[X]], %[[LO]], %[[HI]] {dim = 1} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3xi64>, tensor<3xi32>) -> tensor<3x?x8xf32, #ragged.layout<"dw|d">>
// CHECK: return %[[R]] : tensor<3x?x8xf32, #ragged.layout<"dw|d">>
func.func @ragged_by_vectors(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %lo: tensor<3xi64>, %hi: tensor<3xi32>) -> tensor<3x?x8xf32, #ragged.layout<"dw|d">> {
  %0 = ragged.slice %x, %lo, %hi {dim = 1}
      : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3xi64>, tensor<3xi32>) -> tensor<3x?x8xf32, #ragged.layout<"dw|d">>
  return %0 : tensor<3x?x8xf32, #ragged.layout<"dw|d">>
}

// CHECK-LABEL: func.func @level_above_others
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x?xf32, #ragged.layout<"drr">>, %[[LO:.*]]: index, %[[HI:.*]]: index)
// CHECK: %[[R:.*]] = ragged.slice %[[X]], %[[LO]], %[[HI]] {dim = 1} : (tensor<3x?x?xf32, #ragged.layout<"drr">>, index, index) -> tensor<3x?x?xf32, #ragged.layout<"dwr">>
// CHECK: return %[[R]] : tensor<3x?x?xf32, #ragged.layout<"dwr">>
func.func @level_above_others(%x: tensor<3x?x?xf32, #ragged.layout<"drr">>, %lo: index, %hi: index) -> tensor<3x?x?xf32, #ragged.layout<"dwr">> {
  %0 = ragged.slice %x, %lo, %hi {dim = 1}
      : (tensor<3x?x?xf32, #ragged.layout<"drr">>, index, index) -> tensor<3x?x?xf32, #ragged.layout<"dwr">>
  return %0 : tensor<3x?x?xf32, #ragged.layout<"dwr">>
}

// CHECK-LABEL: func.func @inner_batch
// CHECK-SAME: (%[[X:.*]]: tensor<3x2x?xf32, #ragged.layout<"ddr">>, %[[LO:.*]]: index, %[[HI:.*]]: index)
// CHECK: %[[R:.*]] = ragged.slice %[[X]], %[[LO]], %[[HI]] {dim = 1} : (tensor<3x2x?xf32, #ragged.layout<"ddr">>, index, index) -> tensor<3x?x?xf32, #ragged.layout<"ddw">>
// CHECK: return %[[R]] : tensor<3x?x?xf32, #ragged.layout<"ddw">>
func.func @inner_batch(%x: tensor<3x2x?xf32, #ragged.layout<"ddr">>, %lo: index, %hi: index) -> tensor<3x?x?xf32, #ragged.layout<"ddw">> {
  %0 = ragged.slice %x, %lo, %hi {dim = 1}
      : (tensor<3x2x?xf32, #ragged.layout<"ddr">>, index, index) -> tensor<3x?x?xf32, #ragged.layout<"ddw">>
  return %0 : tensor<3x?x?xf32, #ragged.layout<"ddw">>
}

// CHECK-LABEL: func.func @dense
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %[[LO:.*]]: index, %[[HI:.*]]: index)
// CHECK: %[[R:.*]] = ragged.slice %[[X]], %[[LO]], %[[HI]] {dim = 2} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, index, index) -> tensor<3x?x4xf32, #ragged.layout<"dr|d">>
// CHECK: return %[[R]] : tensor<3x?x4xf32, #ragged.layout<"dr|d">>
func.func @dense(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %lo: index, %hi: index) -> tensor<3x?x4xf32, #ragged.layout<"dr|d">> {
  %0 = ragged.slice %x, %lo, %hi {dim = 2}
      : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, index, index) -> tensor<3x?x4xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<3x?x4xf32, #ragged.layout<"dr|d">>
}
