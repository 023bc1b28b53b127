// RUN: ragged-opt %s --ragged-fuse --convert-ragged-to-scf --canonicalize --cse | FileCheck %s

// What follows reads a row in the loop that makes it.
// CHECK-LABEL: @f
// CHECK-COUNT-1: scf.forall
// CHECK: tensor.extract
// CHECK: arith.mulf
// CHECK-NOT: = scf.forall
func.func @f(%x: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %0 = rowtools.reverse %x {dim = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %1 = arith.mulf %0, %0 : tensor<3x?xf32, #ragged.layout<"dr">>
  return %1 : tensor<3x?xf32, #ragged.layout<"dr">>
}
