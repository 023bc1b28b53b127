// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Dim 0 is no ragged dim.
func.func @f(%x: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  // expected-error@below {{expected a ragged dim below one batch dim, got dim 0 of layout "dr"}}
  %0 = rowtools.reverse %x {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dr">>
}

// -----

// A copy of windows has windows.
func.func @f(%x: tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  // expected-error@below {{expected result type tensor<3x?xf32, #ragged.layout<"dw">>, got tensor<3x?xf32, #ragged.layout<"dr">>}}
  %0 = rowtools.reverse %x {dim = 1} : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dr">>
}
