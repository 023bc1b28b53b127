// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Nothing to do.
func.func @compact_0(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.compact' op expected a layout with a window, got "dr"}}
  %0 = ragged.compact %x : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// The result has no windows.
func.func @compact_1(%x: tensor<3x?xf32, #ragged.layout<"dw">>) {
  // expected-error@+1 {{'ragged.compact' op expected result type tensor<3x?xf32, #ragged.layout<"dr">>, got tensor<3x?xf32, #ragged.layout<"dw">>}}
  %0 = ragged.compact %x : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #ragged.layout<"dw">>
  return
}
