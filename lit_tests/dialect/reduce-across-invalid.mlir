// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Kinds have a neutral element.
func.func @reduce_across_0(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %n: index) {
  // expected-error@+1 {{'ragged.reduce_across' op expected kind among sum, prod, max, min, got 'mean'}}
  %0 = ragged.reduce_across %x, %n {dim = 1, kind = "mean"}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, index) -> tensor<?xf32>
  return
}

// -----

// The kind is text.
func.func @reduce_across_1(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %n: index) {
  // expected-error@+1 {{'ragged.reduce_across' op expected a string for 'kind', got 1 : i64}}
  %0 = ragged.reduce_across %x, %n {dim = 1, kind = 1}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, index) -> tensor<?xf32>
  return
}

// -----

// Rows of dense dims align by themselves.
func.func @reduce_across_2(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %n: index) {
  // expected-error@+1 {{'ragged.reduce_across' op expected an innermost ragged dim without tiles, got dim 0 of layout "dr"}}
  %0 = ragged.reduce_across %x, %n {dim = 0, kind = "sum"}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, index) -> tensor<?xf32>
  return
}

// -----

// The maximum is an integer.
func.func @reduce_across_3(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %n: f32) {
  // expected-error@+1 {{'ragged.reduce_across' op expected a maximum of type i32, i64 or index, got f32}}
  %0 = ragged.reduce_across %x, %n {dim = 1, kind = "sum"}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, f32) -> tensor<?xf32>
  return
}

// -----

// The components go.
func.func @reduce_across_4(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %n: index) {
  // expected-error@+1 {{'ragged.reduce_across' op expected result type tensor<?xf32>, got tensor<3x?xf32>}}
  %0 = ragged.reduce_across %x, %n {dim = 1, kind = "sum"}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, index) -> tensor<3x?xf32>
  return
}
