// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// Levels of kind r and w and t.

// CHECK-LABEL: func.func @contiguous
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>)
// CHECK: %[[R:.*]] = ragged.lengths %[[X]] {level = 1} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<?xi64>
// CHECK: return %[[R]] : tensor<?xi64>
func.func @contiguous(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<?xi64> {
  %0 = ragged.lengths %x {level = 1} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<?xi64>
  return %0 : tensor<?xi64>
}

// CHECK-LABEL: func.func @second_level
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x?xf32, #ragged.layout<"drr">>)
// CHECK: %[[R:.*]] = ragged.lengths %[[X]] {level = 2} : (tensor<3x?x?xf32, #ragged.layout<"drr">>) -> tensor<?xi64>
// CHECK: return %[[R]] : tensor<?xi64>
func.func @second_level(%x: tensor<3x?x?xf32, #ragged.layout<"drr">>) -> tensor<?xi64> {
  %0 = ragged.lengths %x {level = 2} : (tensor<3x?x?xf32, #ragged.layout<"drr">>) -> tensor<?xi64>
  return %0 : tensor<?xi64>
}

// CHECK-LABEL: func.func @window
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dw">>)
// CHECK: %[[R:.*]] = ragged.lengths %[[X]] {level = 1} : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<?xi64>
// CHECK: return %[[R]] : tensor<?xi64>
func.func @window(%x: tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<?xi64> {
  %0 = ragged.lengths %x {level = 1} : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<?xi64>
  return %0 : tensor<?xi64>
}

// CHECK-LABEL: func.func @split
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x16xf32, #ragged.layout<"drt">>)
// CHECK: %[[R:.*]] = ragged.lengths %[[X]] {level = 1} : (tensor<3x?x16xf32, #ragged.layout<"drt">>) -> tensor<?xi64>
// CHECK: return %[[R]] : tensor<?xi64>
func.func @split(%x: tensor<3x?x16xf32, #ragged.layout<"drt">>) -> tensor<?xi64> {
  %0 = ragged.lengths %x {level = 1} : (tensor<3x?x16xf32, #ragged.layout<"drt">>) -> tensor<?xi64>
  return %0 : tensor<?xi64>
}

// CHECK-LABEL: func.func @tile
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x16xf32, #ragged.layout<"drt">>)
// CHECK: %[[R:.*]] = ragged.lengths %[[X]] {level = 2} : (tensor<3x?x16xf32, #ragged.layout<"drt">>) -> tensor<?xi64>
// CHECK: return %[[R]] : tensor<?xi64>
func.func @tile(%x: tensor<3x?x16xf32, #ragged.layout<"drt">>) -> tensor<?xi64> {
  %0 = ragged.lengths %x {level = 2} : (tensor<3x?x16xf32, #ragged.layout<"drt">>) -> tensor<?xi64>
  return %0 : tensor<?xi64>
}

// CHECK-LABEL: func.func @stored
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x?xf32, #ragged.layout<"dww">>)
// CHECK: %[[R:.*]] = ragged.lengths %[[X]] {level = 2, stored} : (tensor<3x?x?xf32, #ragged.layout<"dww">>) -> tensor<?xi64>
// CHECK: return %[[R]] : tensor<?xi64>
func.func @stored(%x: tensor<3x?x?xf32, #ragged.layout<"dww">>) -> tensor<?xi64> {
  %0 = ragged.lengths %x {level = 2, stored} : (tensor<3x?x?xf32, #ragged.layout<"dww">>) -> tensor<?xi64>
  return %0 : tensor<?xi64>
}
