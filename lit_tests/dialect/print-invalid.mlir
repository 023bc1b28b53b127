// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// A label is text.
func.func @print_0(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.print' op expected a string for 'label', got 1 : i64}}
  ragged.print %x {label = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  return
}

// -----

// Elements that have no text.
func.func @print_1(%x: tensor<3x?xcomplex<f32>, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.print' op expected elements of floats of 16 to 64 bits, signless integers or index, got complex<f32>}}
  ragged.print %x : (tensor<3x?xcomplex<f32>, #ragged.layout<"dr">>) -> ()
  return
}
