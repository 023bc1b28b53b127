// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Dense tensors have no levels.
func.func @lengths_0(%x: tensor<3xf32>) {
  // expected-error@+1 {{'ragged.lengths' op expected a tensor with a layout, got tensor<3xf32>}}
  %0 = ragged.lengths %x {level = 0} : (tensor<3xf32>) -> tensor<?xi64>
  return
}

// -----

// Dense dims are no ragged levels.
func.func @lengths_1(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.lengths' op expected a level of kind 'r' or 'w' or 't', got 'd' at dim 0 of layout "dr"}}
  %0 = ragged.lengths %x {level = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
  return
}

// -----

// The level is a dim.
func.func @lengths_2(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.lengths' op expected dim in [0, 2), got 2}}
  %0 = ragged.lengths %x {level = 2} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
  return
}

// -----

// Vectors are dynamic.
func.func @lengths_3(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.lengths' op expected result type tensor<?xi64>, got tensor<4xi64>}}
  %0 = ragged.lengths %x {level = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<4xi64>
  return
}

// -----

// Tiles are not stored: their lengths follow from those of the level they split.
func.func @lengths_4(%x: tensor<3x?x2xf32, #ragged.layout<"drt">>) {
  // expected-error@+1 {{'ragged.lengths' op expected a level of kind 'r' or 'w', got 't' at dim 2 of layout "drt"}}
  %0 = ragged.lengths %x {level = 2, stored} : (tensor<3x?x2xf32, #ragged.layout<"drt">>) -> tensor<?xi64>
  return
}

// -----

// A flag has no value.
func.func @lengths_5(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.lengths' op expected 'stored' without a value, got true}}
  %0 = ragged.lengths %x {level = 1, stored = true} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
  return
}
