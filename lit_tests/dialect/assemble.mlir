// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// The parts of a value in the order of the 1:N form.

// CHECK-LABEL: func.func @one_level
// CHECK-SAME: (%[[V:.*]]: tensor<?x8xf32>, %[[O:.*]]: tensor<4xi64>)
// CHECK: %[[R:.*]] = ragged.assemble %[[V]], %[[O]] : (tensor<?x8xf32>, tensor<4xi64>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
// CHECK: return %[[R]] : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
func.func @one_level(%v: tensor<?x8xf32>, %o: tensor<4xi64>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">> {
  %0 = ragged.assemble %v, %o : (tensor<?x8xf32>, tensor<4xi64>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
}

// CHECK-LABEL: func.func @batch_extents
// CHECK-SAME: (%[[V:.*]]: tensor<?xf32>, %[[O:.*]]: tensor<7xi64>, %[[N:.*]]: index)
// CHECK: %[[R:.*]] = ragged.assemble %[[V]], %[[O]], %[[N]] : (tensor<?xf32>, tensor<7xi64>, index) -> tensor<?x2x?xf32, #ragged.layout<"ddr">>
// CHECK: return %[[R]] : tensor<?x2x?xf32, #ragged.layout<"ddr">>
func.func @batch_extents(%v: tensor<?xf32>, %o: tensor<7xi64>, %n: index) -> tensor<?x2x?xf32, #ragged.layout<"ddr">> {
  %0 = ragged.assemble %v, %o, %n : (tensor<?xf32>, tensor<7xi64>, index) -> tensor<?x2x?xf32, #ragged.layout<"ddr">>
  return %0 : tensor<?x2x?xf32, #ragged.layout<"ddr">>
}

// CHECK-LABEL: func.func @two_levels
// CHECK-SAME: (%[[V:.*]]: tensor<?xf32>, %[[O:.*]]: tensor<?xi64>, %[[P:.*]]: tensor<?xi32>)
// CHECK: %[[R:.*]] = ragged.assemble %[[V]], %[[O]], %[[P]] : (tensor<?xf32>, tensor<?xi64>, tensor<?xi32>) -> tensor<?x?x?xf32, #ragged.layout<"drr">>
// CHECK: return %[[R]] : tensor<?x?x?xf32, #ragged.layout<"drr">>
func.func @two_levels(%v: tensor<?xf32>, %o: tensor<?xi64>, %p: tensor<?xi32>) -> tensor<?x?x?xf32, #ragged.layout<"drr">> {
  %0 = ragged.assemble %v, %o, %p
      : (tensor<?xf32>, tensor<?xi64>, tensor<?xi32>) -> tensor<?x?x?xf32, #ragged.layout<"drr">>
  return %0 : tensor<?x?x?xf32, #ragged.layout<"drr">>
}

// CHECK-LABEL: func.func @windows
// CHECK-SAME: (%[[V:.*]]: tensor<?xf32>, %[[S:.*]]: tensor<3xi64>, %[[L:.*]]: tensor<3xi64>)
// CHECK: %[[R:.*]] = ragged.assemble %[[V]], %[[S]], %[[L]] : (tensor<?xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<3x?xf32, #ragged.layout<"dw">>
// CHECK: return %[[R]] : tensor<3x?xf32, #ragged.layout<"dw">>
func.func @windows(%v: tensor<?xf32>, %s: tensor<3xi64>, %l: tensor<3xi64>) -> tensor<3x?xf32, #ragged.layout<"dw">> {
  %0 = ragged.assemble %v, %s, %l
      : (tensor<?xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<3x?xf32, #ragged.layout<"dw">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dw">>
}

// CHECK-LABEL: func.func @tiles
// CHECK-SAME: (%[[V:.*]]: tensor<?xf32>, %[[O:.*]]: tensor<4xi64>)
// CHECK: %[[R:.*]] = ragged.assemble %[[V]], %[[O]] : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?x16xf32, #ragged.layout<"drt">>
// CHECK: return %[[R]] : tensor<3x?x16xf32, #ragged.layout<"drt">>
func.func @tiles(%v: tensor<?xf32>, %o: tensor<4xi64>) -> tensor<3x?x16xf32, #ragged.layout<"drt">> {
  %0 = ragged.assemble %v, %o : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?x16xf32, #ragged.layout<"drt">>
  return %0 : tensor<3x?x16xf32, #ragged.layout<"drt">>
}

// CHECK-LABEL: func.func @two_axes
// CHECK-SAME: (%[[V:.*]]: tensor<?x?xf32>, %[[O:.*]]: tensor<3xi64>, %[[P:.*]]: tensor<9xi64>)
// CHECK: %[[R:.*]] = ragged.assemble %[[V]], %[[O]], %[[P]] : (tensor<?x?xf32>, tensor<3xi64>, tensor<9xi64>) -> tensor<2x?x8x?xf32, #ragged.layout<"dr|dr">>
// CHECK: return %[[R]] : tensor<2x?x8x?xf32, #ragged.layout<"dr|dr">>
func.func @two_axes(%v: tensor<?x?xf32>, %o: tensor<3xi64>, %p: tensor<9xi64>) -> tensor<2x?x8x?xf32, #ragged.layout<"dr|dr">> {
  %0 = ragged.assemble %v, %o, %p
      : (tensor<?x?xf32>, tensor<3xi64>, tensor<9xi64>) -> tensor<2x?x8x?xf32, #ragged.layout<"dr|dr">>
  return %0 : tensor<2x?x8x?xf32, #ragged.layout<"dr|dr">>
}
