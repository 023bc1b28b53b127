// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// A dense tensor is its own values.
func.func @values_0(%x: tensor<3xf32>) {
  // expected-error@+1 {{'ragged.values' op expected a tensor with a layout, got tensor<3xf32>}}
  %0 = ragged.values %x : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

// A ragged axis has its total's extent.
func.func @values_1(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.values' op expected result type tensor<?xf32>, got tensor<3x?xf32>}}
  %0 = ragged.values %x : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32>
  return
}
