// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Split dims are merged first.
func.func @slice_0(%x: tensor<3x?x4xf32, #ragged.layout<"drt">>, %lo: index, %hi: index) {
  // expected-error@+1 {{'ragged.slice' op expected dim 1 of layout "drt" without tiles, got a split dim (merge it first)}}
  %0 = ragged.slice %x, %lo, %hi {dim = 1}
      : (tensor<3x?x4xf32, #ragged.layout<"drt">>, index, index) -> tensor<3x?x4xf32, #ragged.layout<"dwt">>
  return
}

// -----

// One range for all of a batch.
func.func @slice_1(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %lo: tensor<3xi64>, %hi: index) {
  // expected-error@+1 {{'ragged.slice' op expected scalar lo for dense dim 0, got tensor<3xi64>}}
  %0 = ragged.slice %x, %lo, %hi {dim = 0}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3xi64>, index) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Bounds are integers.
func.func @slice_2(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %lo: index, %hi: f32) {
  // expected-error@+1 {{'ragged.slice' op expected hi of type i32, i64 or index, got f32}}
  %0 = ragged.slice %x, %lo, %hi {dim = 1}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, index, f32) -> tensor<3x?xf32, #ragged.layout<"dw">>
  return
}

// -----

// One pair per component is a vector.
func.func @slice_3(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %lo: tensor<3x1xi64>, %hi: index) {
  // expected-error@+1 {{'ragged.slice' op expected lo of rank 1, got rank 2}}
  %0 = ragged.slice %x, %lo, %hi {dim = 1}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x1xi64>, index) -> tensor<3x?xf32, #ragged.layout<"dw">>
  return
}

// -----

// For every component.
func.func @slice_4(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %lo: tensor<3xi64>, %hi: tensor<4xi64>) {
  // expected-error@+1 {{'ragged.slice' op expected hi of size 3, got 4}}
  %0 = ragged.slice %x, %lo, %hi {dim = 1}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3xi64>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dw">>
  return
}

// -----

// Parts of components have gaps between them.
func.func @slice_5(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %lo: index, %hi: index) {
  // expected-error@+1 {{'ragged.slice' op expected result type tensor<3x?xf32, #ragged.layout<"dw">>, got tensor<3x?xf32, #ragged.layout<"dr">>}}
  %0 = ragged.slice %x, %lo, %hi {dim = 1}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, index, index) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}
