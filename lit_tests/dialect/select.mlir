// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// Every kind of dim, and every type of the index.

// CHECK-LABEL: func.func @component
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %[[I:.*]]: index)
// CHECK: %[[R:.*]] = ragged.select %[[X]], %[[I]] {dim = 0} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, index) -> tensor<?x8xf32>
// CHECK: return %[[R]] : tensor<?x8xf32>
func.func @component(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %i: index) -> tensor<?x8xf32> {
  %0 = ragged.select %x, %i {dim = 0} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, index) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @list
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x?xf32, #ragged.layout<"drr">>, %[[I:.*]]: i64)
// CHECK: %[[R:.*]] = ragged.select %[[X]], %[[I]] {dim = 0} : (tensor<3x?x?xf32, #ragged.layout<"drr">>, i64) -> tensor<?x?xf32, #ragged.layout<"dr">>
// CHECK: return %[[R]] : tensor<?x?xf32, #ragged.layout<"dr">>
func.func @list(%x: tensor<3x?x?xf32, #ragged.layout<"drr">>, %i: i64) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.select %x, %i {dim = 0}
      : (tensor<3x?x?xf32, #ragged.layout<"drr">>, i64) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<?x?xf32, #ragged.layout<"dr">>
}

// CHECK-LABEL: func.func @inner_batch
// CHECK-SAME: (%[[X:.*]]: tensor<3x2x?xf32, #ragged.layout<"ddr">>, %[[I:.*]]: index)
// CHECK: %[[R:.*]] = ragged.select %[[X]], %[[I]] {dim = 1} : (tensor<3x2x?xf32, #ragged.layout<"ddr">>, index) -> tensor<3x?xf32, #ragged.layout<"dw">>
// CHECK: return %[[R]] : tensor<3x?xf32, #ragged.layout<"dw">>
func.func @inner_batch(%x: tensor<3x2x?xf32, #ragged.layout<"ddr">>, %i: index) -> tensor<3x?xf32, #ragged.layout<"dw">> {
  %0 = ragged.select %x, %i {dim = 1}
      : (tensor<3x2x?xf32, #ragged.layout<"ddr">>, index) -> tensor<3x?xf32, #ragged.layout<"dw">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dw">>
}

// CHECK-LABEL: func.func @ragged_above_others
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x?xf32, #ragged.layout<"drr">>, %[[I:.*]]: i32)
// CHECK: %[[R:.*]] = ragged.select %[[X]], %[[I]] {dim = 1} : (tensor<3x?x?xf32, #ragged.layout<"drr">>, i32) -> tensor<3x?xf32, #ragged.layout<"dw">>
// CHECK: return %[[R]] : tensor<3x?xf32, #ragged.layout<"dw">>
func.func @ragged_above_others(%x: tensor<3x?x?xf32, #ragged.layout<"drr">>, %i: i32) -> tensor<3x?xf32, #ragged.layout<"dw">> {
  %0 = ragged.select %x, %i {dim = 1}
      : (tensor<3x?x?xf32, #ragged.layout<"drr">>, i32) -> tensor<3x?xf32, #ragged.layout<"dw">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dw">>
}

// CHECK-LABEL: func.func @row_of_every_component
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %[[I:.*]]: index)
// CHECK: %[[R:.*]] = ragged.select %[[X]], %[[I]] {dim = 1} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, index) -> tensor<3x8xf32>
// CHECK: return %[[R]] : tensor<3x8xf32>
func.func @row_of_every_component(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %i: index) -> tensor<3x8xf32> {
  %0 = ragged.select %x, %i {dim = 1} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, index) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}

// CHECK-LABEL: func.func @feature
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %[[I:.*]]: index)
// CHECK: %[[R:.*]] = ragged.select %[[X]], %[[I]] {dim = 2} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, index) -> tensor<3x?xf32, #ragged.layout<"dr">>
// CHECK: return %[[R]] : tensor<3x?xf32, #ragged.layout<"dr">>
func.func @feature(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %i: index) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.select %x, %i {dim = 2}
      : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, index) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dr">>
}
