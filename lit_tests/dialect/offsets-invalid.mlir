// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Dense tensors have no levels.
func.func @offsets_0(%x: tensor<3xf32>) {
  // expected-error@+1 {{'ragged.offsets' op expected a tensor with a layout, got tensor<3xf32>}}
  %0 = ragged.offsets %x {level = 0} : (tensor<3xf32>) -> tensor<?xi64>
  return
}

// -----

// Dense dims are no ragged levels.
func.func @offsets_1(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.offsets' op expected a level of kind 'r', got 'd' at dim 0 of layout "dr"}}
  %0 = ragged.offsets %x {level = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
  return
}

// -----

// The level is a dim.
func.func @offsets_2(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.offsets' op expected dim in [0, 2), got 2}}
  %0 = ragged.offsets %x {level = 2} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
  return
}

// -----

// Windows have starts and lengths.
func.func @offsets_3(%x: tensor<3x?xf32, #ragged.layout<"dw">>) {
  // expected-error@+1 {{'ragged.offsets' op expected a level of kind 'r', got 'w' at dim 1 of layout "dw"}}
  %0 = ragged.offsets %x {level = 1} : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<?xi64>
  return
}

// -----

// Vectors are dynamic.
func.func @offsets_4(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.offsets' op expected result type tensor<?xi64>, got tensor<4xi64>}}
  %0 = ragged.offsets %x {level = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<4xi64>
  return
}
