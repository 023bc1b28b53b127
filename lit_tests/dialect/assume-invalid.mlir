// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// A tile's extent is known.
func.func @assume_0(%x: tensor<3x?x4xf32, #ragged.layout<"drt">>) {
  // expected-error@+1 {{'ragged.assume' op expected a level that is not a tile, got dim 2 of layout "drt"}}
  %0 = ragged.assume %x {level = 2, max = 4}
      : (tensor<3x?x4xf32, #ragged.layout<"drt">>) -> tensor<3x?x4xf32, #ragged.layout<"drt">>
  return
}

// -----

// A fact.
func.func @assume_1(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.assume' op expected divisible_by, min or max, got none of them}}
  %0 = ragged.assume %x {level = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// That can hold.
func.func @assume_2(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.assume' op expected divisible_by of at least 1, got 0}}
  %0 = ragged.assume %x {divisible_by = 0, level = 1}
      : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Lengths are not negative.
func.func @assume_3(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.assume' op expected min of at least 0, got -1}}
  %0 = ragged.assume %x {level = 1, min = -1}
      : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// The bounds leave a length.
func.func @assume_4(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.assume' op expected max of at least 4, got 3}}
  %0 = ragged.assume %x {level = 1, max = 3, min = 4}
      : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// The type stays.
func.func @assume_5(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.assume' op expected result type tensor<3x?xf32, #ragged.layout<"dr">>, got tensor<?x?xf32, #ragged.layout<"dr">>}}
  %0 = ragged.assume %x {level = 1, max = 3}
      : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return
}
