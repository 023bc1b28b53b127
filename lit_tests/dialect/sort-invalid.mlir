// RUN: ragged-opt %s --split-input-file --verify-diagnostics

func.func @keys(%keys: tensor<?xf32>, %offsets: tensor<?xi64>) {
  // expected-error@+1 {{'ragged.sort' op expected keys of i32, i64 or index, got f32}}
  %0 = ragged.sort %keys, %offsets : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @rank(%keys: tensor<?x8xi32>, %offsets: tensor<?xi64>) {
  // expected-error@+1 {{'ragged.sort' op expected keys of rank 1, got rank 2}}
  %0 = ragged.sort %keys, %offsets : (tensor<?x8xi32>, tensor<?xi64>) -> tensor<?x8xi32>
  return
}

// -----

func.func @offsets(%keys: tensor<?xi32>, %offsets: tensor<2x3xi64>) {
  // expected-error@+1 {{'ragged.sort' op expected offsets of rank 1, got rank 2}}
  %0 = ragged.sort %keys, %offsets : (tensor<?xi32>, tensor<2x3xi64>) -> tensor<?xi32>
  return
}

// -----

// What is compared in one register has one width.
func.func @numbers(%keys: tensor<?xi32>, %offsets: tensor<?xi64>, %numbers: tensor<?xi64>) {
  // expected-error@+1 {{'ragged.sort' op expected numbers of i32, got i64}}
  %0 = ragged.sort %keys, %offsets, %numbers : (tensor<?xi32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  return
}

// -----

func.func @result(%keys: tensor<7xi32>, %offsets: tensor<?xi64>) {
  // expected-error@+1 {{'ragged.sort' op expected result type tensor<7xi32>, got tensor<8xi32>}}
  %0 = ragged.sort %keys, %offsets : (tensor<7xi32>, tensor<?xi64>) -> tensor<8xi32>
  return
}

// -----

func.func @operands(%keys: tensor<?xi64>) {
  // expected-error@+1 {{'ragged.sort' op expected keys, offsets and perhaps numbers, got 1 operands}}
  %0 = ragged.sort %keys : (tensor<?xi64>) -> tensor<?xi64>
  return
}

// -----

func.func @sizes(%keys: tensor<5xi64>, %offsets: tensor<?xi64>, %numbers: tensor<6xi64>) {
  // expected-error@+1 {{'ragged.sort' op expected numbers of size 5, got 6}}
  %0 = ragged.sort %keys, %offsets, %numbers : (tensor<5xi64>, tensor<?xi64>, tensor<6xi64>) -> tensor<6xi64>
  return
}

// -----

func.func @limit(%keys: tensor<?xi32>, %offsets: tensor<?xi64>) {
  // expected-error@+1 {{'ragged.sort' op expected a limit of at least 1, got 0}}
  %0 = ragged.sort %keys, %offsets {limit = 0} : (tensor<?xi32>, tensor<?xi64>) -> tensor<?xi32>
  return
}
