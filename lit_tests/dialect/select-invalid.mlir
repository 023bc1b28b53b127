// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Tiled axes are merged first.
func.func @select_0(%x: tensor<3x?x4xf32, #ragged.layout<"drt">>, %i: index) {
  // expected-error@+1 {{'ragged.select' op expected dim 0 of layout "drt" in an axis without tiles, got a tiled axis (merge it first)}}
  %0 = ragged.select %x, %i {dim = 0}
      : (tensor<3x?x4xf32, #ragged.layout<"drt">>, index) -> tensor<?x4xf32, #ragged.layout<"dt">>
  return
}

// -----

// The index is an integer.
func.func @select_1(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %i: f32) {
  // expected-error@+1 {{'ragged.select' op expected an index of type i32, i64 or index, got f32}}
  %0 = ragged.select %x, %i {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>, f32) -> tensor<?xf32>
  return
}

// -----

// And a scalar.
func.func @select_2(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %i: tensor<3xi64>) {
  // expected-error@+1 {{'ragged.select' op expected an index of type i32, i64 or index, got tensor<3xi64>}}
  %0 = ragged.select %x, %i {dim = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3xi64>) -> tensor<3xf32>
  return
}

// -----

// No negative dims.
func.func @select_3(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %i: index) {
  // expected-error@+1 {{'ragged.select' op expected dim in [0, 2), got -1}}
  %0 = ragged.select %x, %i {dim = -1} : (tensor<3x?xf32, #ragged.layout<"dr">>, index) -> tensor<3xf32>
  return
}
