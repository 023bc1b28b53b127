// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// A dense tensor has no parts.
func.func @assemble_0(%v: tensor<3xf32>) {
  // expected-error@+1 {{'ragged.assemble' op expected a result with a layout, got tensor<3xf32>}}
  %0 = ragged.assemble %v : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

// Every part.
func.func @assemble_1(%v: tensor<?xf32>, %o: tensor<7xi64>) {
  // expected-error@+1 {{'ragged.assemble' op expected 3 operands (values, offsets of dim 2, extent of dim 0), got 2}}
  %0 = ragged.assemble %v, %o : (tensor<?xf32>, tensor<7xi64>) -> tensor<?x2x?xf32, #ragged.layout<"ddr">>
  return
}

// -----

// The values have one dim per storage axis.
func.func @assemble_2(%v: tensor<?xf32>, %o: tensor<4xi64>) {
  // expected-error@+1 {{'ragged.assemble' op expected values type tensor<?x8xf32>, got tensor<?xf32>}}
  %0 = ragged.assemble %v, %o : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return
}

// -----

// Their element type is the result's.
func.func @assemble_3(%v: tensor<?xf64>, %o: tensor<4xi64>) {
  // expected-error@+1 {{'ragged.assemble' op expected values type tensor<?xf32>, got tensor<?xf64>}}
  %0 = ragged.assemble %v, %o : (tensor<?xf64>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Vectors are flat here.
func.func @assemble_4(%v: tensor<?xf32>, %o: tensor<3x2xi64>) {
  // expected-error@+1 {{'ragged.assemble' op expected offsets of dim 1 of rank 1, got rank 2}}
  %0 = ragged.assemble %v, %o : (tensor<?xf32>, tensor<3x2xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// n components have n + 1 offsets.
func.func @assemble_5(%v: tensor<?xf32>, %o: tensor<3xi64>) {
  // expected-error@+1 {{'ragged.assemble' op expected offsets of dim 1 of size 4, got 3}}
  %0 = ragged.assemble %v, %o : (tensor<?xf32>, tensor<3xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// And n starts.
func.func @assemble_6(%v: tensor<?xf32>, %s: tensor<7xi64>, %l: tensor<6xi64>) {
  // expected-error@+1 {{'ragged.assemble' op expected starts of dim 2 of size 6, got 7}}
  %0 = ragged.assemble %v, %s, %l
      : (tensor<?xf32>, tensor<7xi64>, tensor<6xi64>) -> tensor<3x2x?xf32, #ragged.layout<"ddw">>
  return
}

// -----

// Starts are integers.
func.func @assemble_7(%v: tensor<?xf32>, %s: tensor<3xf32>, %l: tensor<3xi64>) {
  // expected-error@+1 {{'ragged.assemble' op expected starts of dim 1 of i32, i64 or index, got f32}}
  %0 = ragged.assemble %v, %s, %l
      : (tensor<?xf32>, tensor<3xf32>, tensor<3xi64>) -> tensor<3x?xf32, #ragged.layout<"dw">>
  return
}

// -----

// Extents are integers.
func.func @assemble_8(%v: tensor<?xf32>, %o: tensor<7xi64>, %n: f32) {
  // expected-error@+1 {{'ragged.assemble' op expected the extent of dim 0 of type i32, i64 or index, got f32}}
  %0 = ragged.assemble %v, %o, %n : (tensor<?xf32>, tensor<7xi64>, f32) -> tensor<?x2x?xf32, #ragged.layout<"ddr">>
  return
}
