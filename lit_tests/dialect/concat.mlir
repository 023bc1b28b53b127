// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// Operands of one and of several types: their groups are not written.

// CHECK-LABEL: func.func @batch
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[Y:.*]]: tensor<2x?xf32, #ragged.layout<"dr">>)
// CHECK: %[[R:.*]] = ragged.concat %[[X]], %[[Y]] {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<2x?xf32, #ragged.layout<"dr">>) -> tensor<5x?xf32, #ragged.layout<"dr">>
// CHECK: return %[[R]] : tensor<5x?xf32, #ragged.layout<"dr">>
func.func @batch(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<2x?xf32, #ragged.layout<"dr">>) -> tensor<5x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.concat %x, %y {dim = 0}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<2x?xf32, #ragged.layout<"dr">>) -> tensor<5x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<5x?xf32, #ragged.layout<"dr">>
}

// CHECK-LABEL: func.func @ragged
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[Y:.*]]: tensor<3x?xf32, #ragged.layout<"dw">>, %[[Z:.*]]: tensor<3x?xf32, #ragged.layout<"dr">>)
// CHECK: %[[R:.*]] = ragged.concat %[[X]], %[[Y]], %[[Z]] {dim = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dw">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
// CHECK: return %[[R]] : tensor<3x?xf32, #ragged.layout<"dr">>
func.func @ragged(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dw">>, %z: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.concat %x, %y, %z {dim = 1}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dw">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dr">>
}

// CHECK-LABEL: func.func @dense
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x4xf32, #ragged.layout<"dr|d">>, %[[Y:.*]]: tensor<3x?x5xf32, #ragged.layout<"dr|d">>)
// CHECK: %[[R:.*]] = ragged.concat %[[X]], %[[Y]] {dim = 2} : (tensor<3x?x4xf32, #ragged.layout<"dr|d">>, tensor<3x?x5xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x9xf32, #ragged.layout<"dr|d">>
// CHECK: return %[[R]] : tensor<3x?x9xf32, #ragged.layout<"dr|d">>
func.func @dense(%x: tensor<3x?x4xf32, #ragged.layout<"dr|d">>, %y: tensor<3x?x5xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x9xf32, #ragged.layout<"dr|d">> {
  %0 = ragged.concat %x, %y {dim = 2}
      : (tensor<3x?x4xf32, #ragged.layout<"dr|d">>, tensor<3x?x5xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x9xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<3x?x9xf32, #ragged.layout<"dr|d">>
}

// CHECK-LABEL: func.func @one
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dr">>)
// CHECK: %[[R:.*]] = ragged.concat %[[X]] {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
// CHECK: return %[[R]] : tensor<3x?xf32, #ragged.layout<"dr">>
func.func @one(%x: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.concat %x {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dr">>
}
