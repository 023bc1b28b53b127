// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Experts of several choices are one vector of keys.
func.func @rank(%keys: tensor<?x2xi64>, %count: index) {
  // expected-error@+1 {{'ragged.group_by' op expected keys of rank 1, got rank 2}}
  %0 = ragged.group_by %keys, %count : (tensor<?x2xi64>, index) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return
}

// -----

func.func @keys(%keys: tensor<?xf32>, %count: index) {
  // expected-error@+1 {{'ragged.group_by' op expected keys of i32, i64 or index, got f32}}
  %0 = ragged.group_by %keys, %count : (tensor<?xf32>, index) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return
}

// -----

func.func @count(%keys: tensor<?xi64>, %count: f32) {
  // expected-error@+1 {{'ragged.group_by' op expected a count of type i32, i64 or index, got f32}}
  %0 = ragged.group_by %keys, %count : (tensor<?xi64>, f32) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return
}

// -----

// Places are indices, whatever the keys are.
func.func @result(%keys: tensor<?xi32>, %count: index) {
  // expected-error@+1 {{'ragged.group_by' op expected result type tensor<?x?xi64, #ragged.layout<"dr">>, got tensor<?x?xi32, #ragged.layout<"dr">>}}
  %0 = ragged.group_by %keys, %count : (tensor<?xi32>, index) -> tensor<?x?xi32, #ragged.layout<"dr">>
  return
}

// -----

func.func @operands(%keys: tensor<?xi64>) {
  // expected-error@+1 {{'ragged.group_by' op expected keys, a count and perhaps numbers, got 1 operands}}
  %0 = ragged.group_by %keys : (tensor<?xi64>) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return
}

// -----

func.func @numbers(%keys: tensor<?xi64>, %count: index, %numbers: tensor<?xf32>) {
  // expected-error@+1 {{'ragged.group_by' op expected numbers of i32, i64 or index, got f32}}
  %0 = ragged.group_by %keys, %count, %numbers : (tensor<?xi64>, index, tensor<?xf32>) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return
}
