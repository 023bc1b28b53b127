// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// With no maximum or one per ragged dim.

// CHECK-LABEL: func.func @to_the_longest
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %[[P:.*]]: f32)
// CHECK: %[[R:.*]] = ragged.to_padded %[[X]], %[[P]] : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, f32) -> tensor<3x?x8xf32>
// CHECK: return %[[R]] : tensor<3x?x8xf32>
func.func @to_the_longest(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %p: f32) -> tensor<3x?x8xf32> {
  %0 = ragged.to_padded %x, %p : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, f32) -> tensor<3x?x8xf32>
  return %0 : tensor<3x?x8xf32>
}

// CHECK-LABEL: func.func @to_a_maximum
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %[[P:.*]]: f32, %[[N:.*]]: index)
// CHECK: %[[R:.*]] = ragged.to_padded %[[X]], %[[P]], %[[N]] : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, f32, index) -> tensor<3x16x8xf32>
// CHECK: return %[[R]] : tensor<3x16x8xf32>
func.func @to_a_maximum(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %p: f32, %n: index) -> tensor<3x16x8xf32> {
  %0 = ragged.to_padded %x, %p, %n : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, f32, index) -> tensor<3x16x8xf32>
  return %0 : tensor<3x16x8xf32>
}

// CHECK-LABEL: func.func @truncated
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x?xi32, #ragged.layout<"drr">>, %[[P:.*]]: i32, %[[N:.*]]: index, %[[M:.*]]: index)
// CHECK: %[[R:.*]] = ragged.to_padded %[[X]], %[[P]], %[[N]], %[[M]] {truncate} : (tensor<3x?x?xi32, #ragged.layout<"drr">>, i32, index, index) -> tensor<3x?x?xi32>
// CHECK: return %[[R]] : tensor<3x?x?xi32>
func.func @truncated(%x: tensor<3x?x?xi32, #ragged.layout<"drr">>, %p: i32, %n: index, %m: index) -> tensor<3x?x?xi32> {
  %0 = ragged.to_padded %x, %p, %n, %m {truncate}
      : (tensor<3x?x?xi32, #ragged.layout<"drr">>, i32, index, index) -> tensor<3x?x?xi32>
  return %0 : tensor<3x?x?xi32>
}

// CHECK-LABEL: func.func @window
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dw">>, %[[P:.*]]: f32)
// CHECK: %[[R:.*]] = ragged.to_padded %[[X]], %[[P]] : (tensor<3x?xf32, #ragged.layout<"dw">>, f32) -> tensor<3x?xf32>
// CHECK: return %[[R]] : tensor<3x?xf32>
func.func @window(%x: tensor<3x?xf32, #ragged.layout<"dw">>, %p: f32) -> tensor<3x?xf32> {
  %0 = ragged.to_padded %x, %p : (tensor<3x?xf32, #ragged.layout<"dw">>, f32) -> tensor<3x?xf32>
  return %0 : tensor<3x?xf32>
}
