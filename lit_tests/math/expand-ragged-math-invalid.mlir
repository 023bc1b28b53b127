// RUN: ragged-opt %s --split-input-file --verify-diagnostics --expand-ragged-math=isa=none

// Only scalars: elementwise ops on tensors become linalg first.
func.func @tensor(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expected scalars of f16, bf16, f32 or f64 to expand math.exp, got tensor<4xf32>}}
  %y = math.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// No polynomials for other float types.
func.func @quad(%x: f128) -> f128 {
  // expected-error@+1 {{expected scalars of f16, bf16, f32 or f64 to expand math.atan2, got f128}}
  %y = math.atan2 %x, %x : f128
  return %y : f128
}

// -----

// The name of the C function that would be declared is taken.
// expected-error@+1 {{expected symbol 'erfc' free for the math library, got func.func}}
func.func @erfc(%x: f64) -> f64 {
  %y = math.erfc %x : f64
  return %y : f64
}
