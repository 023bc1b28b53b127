// RUN: ragged-opt %s --emit-bytecode | ragged-opt --verify-roundtrip --ragged-canonicalize | FileCheck %s

// CHECK-LABEL: @twice
// CHECK-SAME: (%[[X:.*]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @twice(%x: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %0 = rowtools.reverse %x {dim = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %1 = rowtools.reverse %0 {dim = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %1 : tensor<3x?xf32, #ragged.layout<"dr">>
}
