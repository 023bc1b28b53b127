// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Dense tensors have no levels.
func.func @max_length_0(%x: tensor<3xf32>) {
  // expected-error@+1 {{'ragged.max_length' op expected a tensor with a layout, got tensor<3xf32>}}
  %0 = ragged.max_length %x {level = 0} : (tensor<3xf32>) -> index
  return
}

// -----

// Dense dims are no ragged levels.
func.func @max_length_1(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.max_length' op expected a level of kind 'r' or 'w' or 't', got 'd' at dim 0 of layout "dr"}}
  %0 = ragged.max_length %x {level = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> index
  return
}

// -----

// The level is a dim.
func.func @max_length_2(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.max_length' op expected dim in [0, 2), got 2}}
  %0 = ragged.max_length %x {level = 2} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> index
  return
}
