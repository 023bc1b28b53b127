// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// Levels of kind r and w and t.

// CHECK-LABEL: func.func @contiguous
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>)
// CHECK: %[[R:.*]] = ragged.total %[[X]] {level = 1} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> index
// CHECK: return %[[R]] : index
func.func @contiguous(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> index {
  %0 = ragged.total %x {level = 1} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> index
  return %0 : index
}

// CHECK-LABEL: func.func @second_level
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x?xf32, #ragged.layout<"drr">>)
// CHECK: %[[R:.*]] = ragged.total %[[X]] {level = 2} : (tensor<3x?x?xf32, #ragged.layout<"drr">>) -> index
// CHECK: return %[[R]] : index
func.func @second_level(%x: tensor<3x?x?xf32, #ragged.layout<"drr">>) -> index {
  %0 = ragged.total %x {level = 2} : (tensor<3x?x?xf32, #ragged.layout<"drr">>) -> index
  return %0 : index
}

// CHECK-LABEL: func.func @window
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dw">>)
// CHECK: %[[R:.*]] = ragged.total %[[X]] {level = 1} : (tensor<3x?xf32, #ragged.layout<"dw">>) -> index
// CHECK: return %[[R]] : index
func.func @window(%x: tensor<3x?xf32, #ragged.layout<"dw">>) -> index {
  %0 = ragged.total %x {level = 1} : (tensor<3x?xf32, #ragged.layout<"dw">>) -> index
  return %0 : index
}

// CHECK-LABEL: func.func @split
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x16xf32, #ragged.layout<"drt">>)
// CHECK: %[[R:.*]] = ragged.total %[[X]] {level = 1} : (tensor<3x?x16xf32, #ragged.layout<"drt">>) -> index
// CHECK: return %[[R]] : index
func.func @split(%x: tensor<3x?x16xf32, #ragged.layout<"drt">>) -> index {
  %0 = ragged.total %x {level = 1} : (tensor<3x?x16xf32, #ragged.layout<"drt">>) -> index
  return %0 : index
}

// CHECK-LABEL: func.func @tile
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x16xf32, #ragged.layout<"drt">>)
// CHECK: %[[R:.*]] = ragged.total %[[X]] {level = 2} : (tensor<3x?x16xf32, #ragged.layout<"drt">>) -> index
// CHECK: return %[[R]] : index
func.func @tile(%x: tensor<3x?x16xf32, #ragged.layout<"drt">>) -> index {
  %0 = ragged.total %x {level = 2} : (tensor<3x?x16xf32, #ragged.layout<"drt">>) -> index
  return %0 : index
}
