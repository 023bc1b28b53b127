// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Lists are added to lists' own rows: of another structure there is none.
func.func @nested(%terms: tensor<?x?x?xf32, #ragged.layout<"drr">>, %positions: tensor<?x?xi64, #ragged.layout<"dr">>, %count: index) {
  // expected-error@+1 {{'ragged.scatter_add' op expected terms that are dense or lists, as "dr" or "dr|d", got layout "drr"}}
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?x?x?xf32, #ragged.layout<"drr">>, tensor<?x?xi64, #ragged.layout<"dr">>, index) -> tensor<?x?xf32>
  return
}

// -----

func.func @vector(%terms: tensor<?x?xf32, #ragged.layout<"dr">>, %positions: tensor<?xi64>, %count: index) {
  // expected-error@+1 {{'ragged.scatter_add' op expected positions of layout "dr", as terms, got layout "d"}}
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?xi64>, index) -> tensor<?x?xf32>
  return
}

// -----

func.func @dense(%terms: tensor<?xf32>, %positions: tensor<?x?xi64, #ragged.layout<"dr">>, %count: index) {
  // expected-error@+1 {{'ragged.scatter_add' op expected positions without a layout, got}}
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?xf32>, tensor<?x?xi64, #ragged.layout<"dr">>, index) -> tensor<?xf32>
  return
}

// -----

func.func @floats(%terms: tensor<?x?xf32, #ragged.layout<"dr">>, %positions: tensor<?x?xf32, #ragged.layout<"dr">>, %count: index) {
  // expected-error@+1 {{'ragged.scatter_add' op expected positions of i32, i64 or index, got f32}}
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x?xf32, #ragged.layout<"dr">>, index) -> tensor<?x?xf32>
  return
}

// -----

func.func @unique_lists(%terms: tensor<?x?xf32, #ragged.layout<"dr">>, %positions: tensor<?x?xi64, #ragged.layout<"dr">>, %count: index) {
  // expected-error@+1 {{'ragged.scatter_add' op expected dense terms with 'unique', got lists}}
  %0 = ragged.scatter_add %terms, %positions, %count {unique} : (tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x?xi64, #ragged.layout<"dr">>, index) -> tensor<?x?xf32>
  return
}

// -----

func.func @components(%terms: tensor<3x?xf32, #ragged.layout<"dr">>, %positions: tensor<3x?xi64, #ragged.layout<"dr">>, %count: index) {
  // expected-error@+1 {{'ragged.scatter_add' op expected result type tensor<3x?xf32>, got tensor<4x?xf32>}}
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xi64, #ragged.layout<"dr">>, index) -> tensor<4x?xf32>
  return
}

// -----

func.func @scalar(%terms: tensor<f32>, %positions: tensor<?xi64>, %count: index) {
  // expected-error@+1 {{'ragged.scatter_add' op expected terms of rank 1 or more, got rank 0}}
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<f32>, tensor<?xi64>, index) -> tensor<?xf32>
  return
}

// -----

// Positions of several dims are one vector.
func.func @positions(%terms: tensor<?xf32>, %positions: tensor<?x2xi64>, %count: index) {
  // expected-error@+1 {{'ragged.scatter_add' op expected positions of rank 1, got rank 2}}
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?xf32>, tensor<?x2xi64>, index) -> tensor<?xf32>
  return
}

// -----

func.func @count(%terms: tensor<?xf32>, %positions: tensor<?xi64>, %count: f32) {
  // expected-error@+1 {{'ragged.scatter_add' op expected a count of type i32, i64 or index, got f32}}
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?xf32>, tensor<?xi64>, f32) -> tensor<?xf32>
  return
}

// -----

func.func @result(%terms: tensor<?x8xf32>, %positions: tensor<?xi64>, %count: index) {
  // expected-error@+1 {{'ragged.scatter_add' op expected result type tensor<?x8xf32>, got tensor<?x9xf32>}}
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?x8xf32>, tensor<?xi64>, index) -> tensor<?x9xf32>
  return
}

// -----

func.func @of_signed(%t: tensor<4xui8>, %p: tensor<4xi64>, %n: index) -> tensor<?xui8> {
  // expected-error@+1 {{expected terms of floats of 16 to 64 bits, signless integers or index, got ui8}}
  %0 = ragged.scatter_add %t, %p, %n : (tensor<4xui8>, tensor<4xi64>, index) -> tensor<?xui8>
  return %0 : tensor<?xui8>
}

// -----

func.func @unique(%terms: tensor<?xf32>, %positions: tensor<?xi64>, %count: index) -> tensor<?xf32> {
  // expected-error@+1 {{'ragged.scatter_add' op expected 'unique' without a value, got 1 : i64}}
  %0 = ragged.scatter_add %terms, %positions, %count {unique = 1} : (tensor<?xf32>, tensor<?xi64>, index) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// What is no tensor, IRDL refuses.
func.func @number(%terms: f32, %positions: tensor<?xi64>, %count: index) {
  // expected-error@+1 {{expected base type 'builtin.tensor' but got 'builtin.f32'}}
  %0 = ragged.scatter_add %terms, %positions, %count : (f32, tensor<?xi64>, index) -> tensor<?xf32>
  return
}
