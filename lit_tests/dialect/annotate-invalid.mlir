// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// The shape stays.
func.func @annotate_0(%x: tensor<3x?xf32>) {
  // expected-error@+1 {{'ragged.annotate' op expected types that differ in their layout only, got tensor<3x?xf32> and tensor<4x?xf32, #ragged.layout<"dr">>}}
  %0 = ragged.annotate %x : (tensor<3x?xf32>) -> tensor<4x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// The element type too.
func.func @annotate_1(%x: tensor<3x?xf32>) {
  // expected-error@+1 {{'ragged.annotate' op expected types that differ in their layout only, got tensor<3x?xf32> and tensor<3x?xf64, #ragged.layout<"dr">>}}
  %0 = ragged.annotate %x : (tensor<3x?xf32>) -> tensor<3x?xf64, #ragged.layout<"dr">>
  return
}
