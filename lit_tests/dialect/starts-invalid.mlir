// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Dense tensors have no levels.
func.func @starts_0(%x: tensor<3xf32>) {
  // expected-error@+1 {{'ragged.starts' op expected a tensor with a layout, got tensor<3xf32>}}
  %0 = ragged.starts %x {level = 0} : (tensor<3xf32>) -> tensor<?xi64>
  return
}

// -----

// Dense dims are no ragged levels.
func.func @starts_1(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.starts' op expected a level of kind 'r' or 'w', got 'd' at dim 0 of layout "dr"}}
  %0 = ragged.starts %x {level = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
  return
}

// -----

// The level is a dim.
func.func @starts_2(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.starts' op expected dim in [0, 2), got 2}}
  %0 = ragged.starts %x {level = 2} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
  return
}

// -----

// Vectors are dynamic.
func.func @starts_3(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.starts' op expected result type tensor<?xi64>, got tensor<4xi64>}}
  %0 = ragged.starts %x {level = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<4xi64>
  return
}
