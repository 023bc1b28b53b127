// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Pairs.
func.func @assert_conform_0(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.assert_conform' op expected lhs and rhs of one size above 0, got 2 and 1}}
  ragged.assert_conform %x, %y {lhs = array<i64: 0, 1>, op = "f", rhs = array<i64: 1>}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  return
}

// -----

// At least one.
func.func @assert_conform_1(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.assert_conform' op expected lhs and rhs of one size above 0, got 0 and 0}}
  ragged.assert_conform %x, %y {lhs = array<i64>, op = "f", rhs = array<i64>}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  return
}

// -----

// A ragged level has parents.
func.func @assert_conform_2(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.assert_conform' op expected the levels above dim 1 of layout "dr", [0], as its parents, got []}}
  ragged.assert_conform %x, %y {lhs = array<i64: 1>, op = "f", rhs = array<i64: 1>}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  return
}

// -----

// Dims are those of the operands.
func.func @assert_conform_3(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.assert_conform' op expected dim in [0, 2), got 2}}
  ragged.assert_conform %x, %y {lhs = array<i64: 2>, op = "f", rhs = array<i64: 1>}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  return
}

// -----

// Lists are arrays.
func.func @assert_conform_4(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.assert_conform' op expected array<i64: …> for 'lhs', got [0]}}
  ragged.assert_conform %x, %y {lhs = [0], op = "f", rhs = array<i64: 1>}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  return
}

// -----

// Levels are integers that have a class.
func.func @assert_conform_elements(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{expected array<i64: …> for 'lhs', got array<ui8: 1>}}
  ragged.assert_conform %x, %x {lhs = array<ui8: 1>, op = "f", rhs = array<i128: 1>} : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  return
}
