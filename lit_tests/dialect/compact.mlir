// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// Windows become contiguous.

// CHECK-LABEL: func.func @one_level
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dw|d">>)
// CHECK: %[[R:.*]] = ragged.compact %[[X]] : (tensor<3x?x8xf32, #ragged.layout<"dw|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
// CHECK: return %[[R]] : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
func.func @one_level(%x: tensor<3x?x8xf32, #ragged.layout<"dw|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">> {
  %0 = ragged.compact %x : (tensor<3x?x8xf32, #ragged.layout<"dw|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
}

// CHECK-LABEL: func.func @every_level
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x?xf32, #ragged.layout<"dww">>)
// CHECK: %[[R:.*]] = ragged.compact %[[X]] : (tensor<3x?x?xf32, #ragged.layout<"dww">>) -> tensor<3x?x?xf32, #ragged.layout<"drr">>
// CHECK: return %[[R]] : tensor<3x?x?xf32, #ragged.layout<"drr">>
func.func @every_level(%x: tensor<3x?x?xf32, #ragged.layout<"dww">>) -> tensor<3x?x?xf32, #ragged.layout<"drr">> {
  %0 = ragged.compact %x : (tensor<3x?x?xf32, #ragged.layout<"dww">>) -> tensor<3x?x?xf32, #ragged.layout<"drr">>
  return %0 : tensor<3x?x?xf32, #ragged.layout<"drr">>
}
