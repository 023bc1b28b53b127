// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// There is something to read.
func.func @from_padded_0() {
  // expected-error@+1 {{'ragged.from_padded' op expected a padded tensor and offsets, got no operand}}
  %0 = ragged.from_padded : () -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// It is a tensor.
func.func @from_padded_1(%x: f32, %o: tensor<4xi64>) {
  // expected-error@+1 {{'ragged.from_padded' op expected a padded tensor, got f32}}
  %0 = ragged.from_padded %x, %o : (f32, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// So are the offsets.
func.func @from_padded_2(%x: tensor<3x9xf32>, %o: index) {
  // expected-error@+1 {{'ragged.from_padded' op expected offsets to be a tensor, got index}}
  %0 = ragged.from_padded %x, %o : (tensor<3x9xf32>, index) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// The result is ragged.
func.func @from_padded_3(%x: tensor<3x9xf32>) {
  // expected-error@+1 {{'ragged.from_padded' op expected a result with a layout of 'd' and 'r', got tensor<3x9xf32>}}
  %0 = ragged.from_padded %x : (tensor<3x9xf32>) -> tensor<3x9xf32>
  return
}

// -----

// And contiguous.
func.func @from_padded_4(%x: tensor<3x9xf32>, %o: tensor<3xi64>) {
  // expected-error@+1 {{'ragged.from_padded' op expected a result with a layout of 'd' and 'r', got tensor<3x?xf32, #ragged.layout<"dw">>}}
  %0 = ragged.from_padded %x, %o : (tensor<3x9xf32>, tensor<3xi64>) -> tensor<3x?xf32, #ragged.layout<"dw">>
  return
}

// -----

// One vector per level.
func.func @from_padded_5(%x: tensor<3x9x8xf32>, %o: tensor<4xi64>) {
  // expected-error@+1 {{'ragged.from_padded' op expected 2 offsets, got 1}}
  %0 = ragged.from_padded %x, %o : (tensor<3x9x8xf32>, tensor<4xi64>) -> tensor<3x?x?xf32, #ragged.layout<"drr">>
  return
}

// -----

// Of n + 1 offsets.
func.func @from_padded_6(%x: tensor<3x9xf32>, %o: tensor<5xi64>) {
  // expected-error@+1 {{'ragged.from_padded' op expected offsets of dim 1 of size 4, got 5}}
  %0 = ragged.from_padded %x, %o : (tensor<3x9xf32>, tensor<5xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Vectors are flat.
func.func @from_padded_7(%x: tensor<3x9xf32>, %o: tensor<3x2xi64>) {
  // expected-error@+1 {{'ragged.from_padded' op expected offsets of rank 1, got rank 2}}
  %0 = ragged.from_padded %x, %o : (tensor<3x9xf32>, tensor<3x2xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// The element type stays.
func.func @from_padded_8(%x: tensor<3x9xf32>, %o: tensor<4xi64>) {
  // expected-error@+1 {{'ragged.from_padded' op expected a result of f32, got f64}}
  %0 = ragged.from_padded %x, %o : (tensor<3x9xf32>, tensor<4xi64>) -> tensor<3x?xf64, #ragged.layout<"dr">>
  return
}

// -----

// Dense dims agree.
func.func @from_padded_9(%x: tensor<4x9xf32>, %o: tensor<4xi64>) {
  // expected-error@+1 {{'ragged.from_padded' op expected operand type tensor<3x?xf32>, got tensor<4x9xf32>}}
  %0 = ragged.from_padded %x, %o : (tensor<4x9xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}
