// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// A level with levels below it is partitioned.
func.func @split_0(%x: tensor<3x?x?xf32, #ragged.layout<"drr">>) {
  // expected-error@+1 {{'ragged.split' op expected a level without ragged levels below it, got dim 1 of layout "drr" (partition it instead)}}
  %0 = ragged.split %x {dim = 1, factor = 2}
      : (tensor<3x?x?xf32, #ragged.layout<"drr">>) -> tensor<3x?x2x?xf32, #ragged.layout<"drdr">>
  return
}

// -----

// Factors count elements.
func.func @split_1(%x: tensor<6xf32>) {
  // expected-error@+1 {{'ragged.split' op expected a factor of at least 1, got 0}}
  %0 = ragged.split %x {dim = 0, factor = 0} : (tensor<6xf32>) -> tensor<6x1xf32, #ragged.layout<"dt">>
  return
}

// -----

// Batches have no holes.
func.func @split_2(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.split' op expected a factor that divides batch extent 3, got 2 (use partition)}}
  %0 = ragged.split %x {dim = 0, factor = 2}
      : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<2x2x?xf32, #ragged.layout<"ddr">>
  return
}

// -----

// Tiles are addressed by 64 bits.
func.func @split_3(%x: tensor<6xf32>) {
  // expected-error@+1 {{'ragged.split' op expected an extent below 2**63 on dim 1, got 9223372036854775808}}
  %0 = ragged.split %x {dim = 0, factor = 9223372036854775808 : i128}
      : (tensor<6xf32>) -> tensor<1x4xf32, #ragged.layout<"dt">>
  return
}

// -----

// Nor have tiles.
func.func @split_4(%x: tensor<3x?x8xf32, #ragged.layout<"drt">>) {
  // expected-error@+1 {{'ragged.split' op expected a factor that divides tile extent 8, got 3}}
  %0 = ragged.split %x {dim = 2, factor = 3}
      : (tensor<3x?x8xf32, #ragged.layout<"drt">>) -> tensor<3x?x3x3xf32, #ragged.layout<"drtt">>
  return
}

// -----

// The tile has the factor's extent.
func.func @split_5(%x: tensor<6xf32>) {
  // expected-error@+1 {{'ragged.split' op expected result type tensor<2x4xf32, #ragged.layout<"dt">>, got tensor<2x3xf32, #ragged.layout<"dt">>}}
  %0 = ragged.split %x {dim = 0, factor = 4} : (tensor<6xf32>) -> tensor<2x3xf32, #ragged.layout<"dt">>
  return
}
