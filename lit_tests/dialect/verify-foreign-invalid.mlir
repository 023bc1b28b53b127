// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Uninitialised tensors have a structure.
func.func @verify_foreign_0(%n: index) {
  // expected-error@+1 {{'tensor.empty' op expected operands and results without a layout, got tensor<3x?xf32, #ragged.layout<"dr">> (use ragged.empty)}}
  %0 = tensor.empty(%n) : tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Padding is a conversion.
func.func @verify_foreign_1(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %p: f32) {
  // expected-error@+1 {{'tensor.pad' op expected operands and results without a layout, got tensor<3x?xf32, #ragged.layout<"dr">> (use ragged.to_padded)}}
  %0 = tensor.pad %x low[0, 0] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %p : f32
  } : tensor<3x?xf32, #ragged.layout<"dr">> to tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Concatenation goes by components.
func.func @verify_foreign_2(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'tensor.concat' op expected operands and results without a layout, got tensor<3x?xf32, #ragged.layout<"dr">> (use ragged.concat)}}
  %0 = tensor.concat dim(0) %x, %x : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<6x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// A constant has no offsets.
func.func @verify_foreign_3() {
  // expected-error@+1 {{'arith.constant' op expected operands and results without a layout, got tensor<2x2xf32, #ragged.layout<"dt">> (use ragged.empty and linalg.fill)}}
  %0 = arith.constant dense<0.0> : tensor<2x2xf32, #ragged.layout<"dt">>
  return
}

// -----

// Other ops of a dialect get its way out.
func.func @verify_foreign_4(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %v: f32, %i: index) {
  // expected-error@+1 {{'tensor.insert' op expected operands and results without a layout, got tensor<3x?xf32, #ragged.layout<"dr">> (use linalg.generic)}}
  %0 = tensor.insert %v into %x[%i, %i] : tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Other dialects too.
func.func @verify_foreign_5(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %p: f32, %i: index) {
  // expected-error@+1 {{'vector.transfer_read' op expected operands and results without a layout, got tensor<3x?xf32, #ragged.layout<"dr">> (use ragged.values)}}
  %0 = vector.transfer_read %x[%i, %i], %p {permutation_map = affine_map<(d0, d1) -> (d1)>} : tensor<3x?xf32, #ragged.layout<"dr">>, vector<4xf32>
  return
}
