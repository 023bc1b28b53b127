// RUN: ragged-opt %s --split-input-file --expand-ragged-floats --verify-diagnostics

// LLVM would call a function of C compilers.
func.func @divided(%a: i128, %b: i128) -> i128 {
  // expected-error @below {{expected integers of at most 64 bits for 'arith.divsi', got i128}}
  %0 = arith.divsi %a, %b : i128
  return %0 : i128
}

// -----

func.func @converted(%a: vector<4xi65>) -> vector<4xf32> {
  // expected-error @below {{expected integers of at most 64 bits for 'arith.sitofp', got i65}}
  %0 = arith.sitofp %a : vector<4xi65> to vector<4xf32>
  return %0 : vector<4xf32>
}

// -----

// The code of a product of so wide integers has no bound.
func.func @wide(%a: i65536) -> i65536 {
  // expected-error @below {{expected integers of at most 128 bits, got i65536}}
  %0 = arith.muli %a, %a : i65536
  return %0 : i65536
}

// -----

func.func @quad(%a: f128) -> f128 {
  // expected-error @below {{expected floats of at most 80 bits, got f128}}
  %0 = arith.addf %a, %a : f128
  return %0 : f128
}

// -----

// What moves them is right.
func.func @moved(%c: i1, %a: i1024, %b: i1024, %x: f128, %y: f128) -> (i1024, f128, i128) {
  %0 = arith.select %c, %a, %b : i1024
  %1 = arith.select %c, %x, %y : f128
  %2 = arith.constant 7 : i128
  %3 = arith.muli %2, %2 : i128
  return %0, %1, %3 : i1024, f128, i128
}
