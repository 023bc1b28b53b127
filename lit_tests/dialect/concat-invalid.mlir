// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Something to concatenate.
func.func @concat_0() {
  // expected-error@+1 {{'ragged.concat' op expected at least 1 operand, got 0}}
  %0 = ragged.concat {dim = 0} : () -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Tensors, no scalars.
func.func @concat_1(%x: f32) {
  // expected-error@+1 {{'ragged.concat' op expected tensors to concatenate, got f32}}
  %0 = ragged.concat %x {dim = 0} : (f32) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// One element type.
func.func @concat_2(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf64, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.concat' op expected operands of f32, got f64}}
  %0 = ragged.concat %x, %y {dim = 0}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf64, #ragged.layout<"dr">>) -> tensor<6x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// One layout, windows apart.
func.func @concat_3(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?x4xf32, #ragged.layout<"dr|d">>) {
  // expected-error@+1 {{'ragged.concat' op expected operands of layout "dr", got "dr|d"}}
  %0 = ragged.concat %x, %y {dim = 0}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?x4xf32, #ragged.layout<"dr|d">>) -> tensor<6x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// No tiles.
func.func @concat_4(%x: tensor<2x4xf32, #ragged.layout<"dt">>, %y: tensor<2x4xf32, #ragged.layout<"dt">>) {
  // expected-error@+1 {{'ragged.concat' op expected operands without tiles, got layout "dt" (merge it first)}}
  %0 = ragged.concat %x, %y {dim = 0}
      : (tensor<2x4xf32, #ragged.layout<"dt">>, tensor<2x4xf32, #ragged.layout<"dt">>) -> tensor<4x4xf32, #ragged.layout<"dt">>
  return
}

// -----

// Equal extents elsewhere.
func.func @concat_5(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<2x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.concat' op expected equal extents on dim 0, got 2 and 3}}
  %0 = ragged.concat %x, %y {dim = 1}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<2x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}
