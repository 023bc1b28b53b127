// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// A layout is added or removed.

// CHECK-LABEL: func.func @add
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32>)
// CHECK: %[[R:.*]] = ragged.annotate %[[X]] : (tensor<3x?x8xf32>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
// CHECK: return %[[R]] : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
func.func @add(%x: tensor<3x?x8xf32>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">> {
  %0 = ragged.annotate %x : (tensor<3x?x8xf32>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
}

// CHECK-LABEL: func.func @remove
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>)
// CHECK: %[[R:.*]] = ragged.annotate %[[X]] : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x8xf32>
// CHECK: return %[[R]] : tensor<3x?x8xf32>
func.func @remove(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x8xf32> {
  %0 = ragged.annotate %x : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x8xf32>
  return %0 : tensor<3x?x8xf32>
}
