// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// The value stays what it is.
func.func @guard_0(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.guard' op expected result type tensor<3x?xf32, #ragged.layout<"dr">>, got tensor<3x?xf32, #ragged.layout<"dw">>}}
  %0 = ragged.guard %x : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dw">>
  return
}
