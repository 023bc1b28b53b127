// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// A label is text.
func.func @print_0(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.print' op expected a string for 'label', got 1 : i64}}
  ragged.print %x {label = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  return
}
