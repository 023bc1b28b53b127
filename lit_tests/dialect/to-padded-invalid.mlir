// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Dense tensors have nothing to pad.
func.func @to_padded_0(%x: tensor<3x4xf32>, %p: f32) {
  // expected-error@+1 {{'ragged.to_padded' op expected a tensor with a layout, got tensor<3x4xf32>}}
  %0 = ragged.to_padded %x, %p : (tensor<3x4xf32>, f32) -> tensor<3x4xf32>
  return
}

// -----

// Tiles are merged first.
func.func @to_padded_1(%x: tensor<3x?x4xf32, #ragged.layout<"drt">>, %p: f32) {
  // expected-error@+1 {{'ragged.to_padded' op expected a layout without tiles, got "drt" (merge it first)}}
  %0 = ragged.to_padded %x, %p : (tensor<3x?x4xf32, #ragged.layout<"drt">>, f32) -> tensor<3x?x4xf32>
  return
}

// -----

// The pad is an element.
func.func @to_padded_2(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %p: f64) {
  // expected-error@+1 {{'ragged.to_padded' op expected a pad of type f32, got f64}}
  %0 = ragged.to_padded %x, %p : (tensor<3x?xf32, #ragged.layout<"dr">>, f64) -> tensor<3x?xf32>
  return
}

// -----

// One maximum per ragged dim.
func.func @to_padded_3(%x: tensor<3x?x?xf32, #ragged.layout<"drr">>, %p: f32, %n: index) {
  // expected-error@+1 {{'ragged.to_padded' op expected 2 maxima or none, got 1}}
  %0 = ragged.to_padded %x, %p, %n : (tensor<3x?x?xf32, #ragged.layout<"drr">>, f32, index) -> tensor<3x?x?xf32>
  return
}

// -----

// Truncation needs maxima.
func.func @to_padded_4(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %p: f32) {
  // expected-error@+1 {{'ragged.to_padded' op expected 1 maxima with 'truncate', got 0}}
  %0 = ragged.to_padded %x, %p {truncate} : (tensor<3x?xf32, #ragged.layout<"dr">>, f32) -> tensor<3x?xf32>
  return
}

// -----

// The result is dense.
func.func @to_padded_5(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %p: f32) {
  // expected-error@+1 {{'ragged.to_padded' op expected result type tensor<3x?xf32>, got tensor<3x?xf32, #ragged.layout<"dr">>}}
  %0 = ragged.to_padded %x, %p : (tensor<3x?xf32, #ragged.layout<"dr">>, f32) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}
