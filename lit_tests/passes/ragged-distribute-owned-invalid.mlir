// RUN: ragged-opt %s --split-input-file --ragged-distribute="ranks=2 owned=5,3" --verify-diagnostics

// Neither the eight that they own, nor in blocks of one size.
// expected-error@+1 {{expected a leading extent that 2 ranks divide, got tensor<7x4xf32>}}
func.func @other(%x: tensor<7x4xf32> {ragged.sharded}) { return }

// -----

// Rank 0 has two and a half pairs of its five.
func.func @halves(%x: tensor<8x?xf32, #ragged.layout<"dr">> {ragged.sharded}) -> tensor<4x2x?xf32, #ragged.layout<"ddr">> {
  // expected-error@+1 {{expected parts of 2 in blocks of [5, 3], got blocks of [4, 4]}}
  %0 = ragged.split %x {dim = 0, factor = 2} : (tensor<8x?xf32, #ragged.layout<"dr">>) -> tensor<4x2x?xf32, #ragged.layout<"ddr">>
  return %0 : tensor<4x2x?xf32, #ragged.layout<"ddr">>
}

// -----

// Eight pairs would be in blocks of five and three of them, but rank 0 has eight elements.
func.func @pairs(%x: tensor<16x?xf32, #ragged.layout<"dr">> {ragged.sharded}) -> tensor<8x2x?xf32, #ragged.layout<"ddr">> {
  // expected-error@+1 {{expected parts of 2 in blocks of [8, 8], got blocks of [10, 6]}}
  %0 = ragged.split %x {dim = 0, factor = 2} : (tensor<16x?xf32, #ragged.layout<"dr">>) -> tensor<8x2x?xf32, #ragged.layout<"ddr">>
  return %0 : tensor<8x2x?xf32, #ragged.layout<"ddr">>
}

// -----

// The last tile of rank 0 has an element of rank 1, without `owned` too.
func.func @tiles(%x: tensor<10xf32> {ragged.sharded}) -> tensor<4x3xf32, #ragged.layout<"dt">> {
  // expected-error@+1 {{expected parts of 3 in blocks of [5, 5], got blocks of [6, 6]}}
  %0 = ragged.split %x {dim = 0, factor = 3} : (tensor<10xf32>) -> tensor<4x3xf32, #ragged.layout<"dt">>
  return %0 : tensor<4x3xf32, #ragged.layout<"dt">>
}
