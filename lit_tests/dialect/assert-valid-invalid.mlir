// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Kinds are known.
func.func @assert_valid_0(%o: tensor<?xi64>) {
  // expected-error-re@+1 {{'ragged.assert_valid' op expected kind among offsets, rows, {{.*}}, got 'sorted'}}
  ragged.assert_valid %o {kind = "sorted", level = 1, op = "f"} : (tensor<?xi64>) -> ()
  return
}

// -----

// The kind is text.
func.func @assert_valid_1(%o: tensor<?xi64>) {
  // expected-error@+1 {{'ragged.assert_valid' op expected a string for 'kind', got 1 : i64}}
  ragged.assert_valid %o {kind = 1, level = 1, op = "f"} : (tensor<?xi64>) -> ()
  return
}

// -----

// Some kinds have a factor.
func.func @assert_valid_2(%n: index) {
  // expected-error@+1 {{'ragged.assert_valid' op expected a factor of at least 1 for kind 'divides', got none}}
  ragged.assert_valid %n {kind = "divides", level = 1, op = "f"} : (index) -> ()
  return
}

// -----

// That is positive.
func.func @assert_valid_3(%n: index) {
  // expected-error@+1 {{'ragged.assert_valid' op expected a factor of at least 1 for kind 'divides', got -2}}
  ragged.assert_valid %n {factor = -2, kind = "divides", level = 1, op = "f"} : (index) -> ()
  return
}

// -----

// Offsets are checked against an extent.
func.func @assert_valid_4(%o: tensor<?xi64>) {
  // expected-error@+1 {{'ragged.assert_valid' op expected 2 to 3 operands for kind 'offsets', got 1}}
  ragged.assert_valid %o {kind = "offsets", level = 1, op = "f"} : (tensor<?xi64>) -> ()
  return
}

// -----

// Some kinds take an exact number.
func.func @assert_valid_5(%n: index) {
  // expected-error@+1 {{'ragged.assert_valid' op expected 2 operands for kind 'equal', got 1}}
  ragged.assert_valid %n {kind = "equal", level = 1, op = "f"} : (index) -> ()
  return
}

// -----

// Offsets are a vector.
func.func @assert_valid_6(%o: index, %n: index) {
  // expected-error@+1 {{'ragged.assert_valid' op expected offsets to be a tensor for kind 'offsets', got index}}
  ragged.assert_valid %o, %n {kind = "offsets", level = 1, op = "f"} : (index, index) -> ()
  return
}

// -----

// Of rank 1.
func.func @assert_valid_7(%o: tensor<?x?xi64>, %n: index) {
  // expected-error@+1 {{'ragged.assert_valid' op expected offsets of rank 1, got rank 2}}
  ragged.assert_valid %o, %n {kind = "offsets", level = 1, op = "f"} : (tensor<?x?xi64>, index) -> ()
  return
}

// -----

// The extent is a scalar.
func.func @assert_valid_8(%o: tensor<?xi64>, %n: tensor<?xi64>) {
  // expected-error@+1 {{'ragged.assert_valid' op expected the extent of type i32, i64 or index, got tensor<?xi64>}}
  ragged.assert_valid %o, %n {kind = "offsets", level = 1, op = "f"} : (tensor<?xi64>, tensor<?xi64>) -> ()
  return
}
