// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// One vector of offsets per ragged level.

// CHECK-LABEL: func.func @one_level
// CHECK-SAME: (%[[X:.*]]: tensor<3x9x8xf32>, %[[O:.*]]: tensor<4xi64>)
// CHECK: %[[R:.*]] = ragged.from_padded %[[X]], %[[O]] : (tensor<3x9x8xf32>, tensor<4xi64>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
// CHECK: return %[[R]] : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
func.func @one_level(%x: tensor<3x9x8xf32>, %o: tensor<4xi64>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">> {
  %0 = ragged.from_padded %x, %o : (tensor<3x9x8xf32>, tensor<4xi64>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
}

// CHECK-LABEL: func.func @two_levels
// CHECK-SAME: (%[[X:.*]]: tensor<3x9x8xf32>, %[[O:.*]]: tensor<4xi64>, %[[P:.*]]: tensor<?xi64>)
// CHECK: %[[R:.*]] = ragged.from_padded %[[X]], %[[O]], %[[P]] : (tensor<3x9x8xf32>, tensor<4xi64>, tensor<?xi64>) -> tensor<3x?x?xf32, #ragged.layout<"drr">>
// CHECK: return %[[R]] : tensor<3x?x?xf32, #ragged.layout<"drr">>
func.func @two_levels(%x: tensor<3x9x8xf32>, %o: tensor<4xi64>, %p: tensor<?xi64>) -> tensor<3x?x?xf32, #ragged.layout<"drr">> {
  %0 = ragged.from_padded %x, %o, %p
      : (tensor<3x9x8xf32>, tensor<4xi64>, tensor<?xi64>) -> tensor<3x?x?xf32, #ragged.layout<"drr">>
  return %0 : tensor<3x?x?xf32, #ragged.layout<"drr">>
}

// CHECK-LABEL: func.func @two_axes
// CHECK-SAME: (%[[X:.*]]: tensor<2x9x8x5xf32>, %[[O:.*]]: tensor<3xi64>, %[[P:.*]]: tensor<9xi64>)
// CHECK: %[[R:.*]] = ragged.from_padded %[[X]], %[[O]], %[[P]] : (tensor<2x9x8x5xf32>, tensor<3xi64>, tensor<9xi64>) -> tensor<2x?x8x?xf32, #ragged.layout<"dr|dr">>
// CHECK: return %[[R]] : tensor<2x?x8x?xf32, #ragged.layout<"dr|dr">>
func.func @two_axes(%x: tensor<2x9x8x5xf32>, %o: tensor<3xi64>, %p: tensor<9xi64>) -> tensor<2x?x8x?xf32, #ragged.layout<"dr|dr">> {
  %0 = ragged.from_padded %x, %o, %p
      : (tensor<2x9x8x5xf32>, tensor<3xi64>, tensor<9xi64>) -> tensor<2x?x8x?xf32, #ragged.layout<"dr|dr">>
  return %0 : tensor<2x?x8x?xf32, #ragged.layout<"dr|dr">>
}
