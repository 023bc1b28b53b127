// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// A factor for each term.
!x = tensor<3x?x8xf32, #ragged.layout<"dr|d">>
!y = tensor<3x?x4xf32, #ragged.layout<"dr|d">>
func.func @shapes(%x: !x, %y: !y) {
  // expected-error@+1 {{'ragged.recurrence' op expected factors of shape 3x?x8, "dr|d", got 3x?x4, "dr|d"}}
  %0 = ragged.recurrence %x, %y {dim = 1} : (!x, !y) -> !x
  return
}

// -----

// The components differ in length.
!x = tensor<3x?xf32, #ragged.layout<"dr">>
func.func @outer(%x: !x) {
  // expected-error@+1 {{expected an innermost level, got dim 0 of layout "dr"}}
  %0 = ragged.recurrence %x, %x {dim = 0} : (!x, !x) -> !x
  return
}

// -----

!x = tensor<3x?xi32, #ragged.layout<"dr">>
func.func @integers(%x: !x) {
  // expected-error@+1 {{'ragged.recurrence' op expected elements of floats of 16 to 64 bits, got i32}}
  %0 = ragged.recurrence %x, %x {dim = 1} : (!x, !x) -> !x
  return
}

// -----

// Nothing is converted.
!x = tensor<3x?xf32, #ragged.layout<"dr">>
!y = tensor<3x?xf64, #ragged.layout<"dr">>
func.func @elements(%x: !x, %y: !y) {
  // expected-error@+1 {{'ragged.recurrence' op expected factors of f32, got f64}}
  %0 = ragged.recurrence %x, %y {dim = 1} : (!x, !y) -> !x
  return
}

// -----

!x = tensor<3x?xf32, #ragged.layout<"dr">>
func.func @reverse(%x: !x) {
  // expected-error@+1 {{'ragged.recurrence' op expected 'reverse' without a value, got true}}
  %0 = ragged.recurrence %x, %x {dim = 1, reverse = true} : (!x, !x) -> !x
  return
}
