// RUN: ragged-opt %s --split-input-file --ragged-differentiate=function=f --verify-diagnostics

// The ops of a callee take the place of its call, which would have no end.
func.func @f(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = arith.cmpi eq, %n, %c0 : index
  %y = scf.if %c -> (f64) {
    scf.yield %x : f64
  } else {
    %m = arith.subi %n, %c1 : index
    // expected-error@+1 {{ragged-differentiate: expected a call of a function that does not call itself, got @f}}
    %a = func.call @f(%x, %m) : (f64, index) -> f64
    scf.yield %a : f64
  }
  return %y : f64
}

// -----

// By way of another one.
func.func @g(%x: f64) -> f64 {
  %a = func.call @h(%x) : (f64) -> f64
  return %a : f64
}
func.func @h(%x: f64) -> f64 {
  %a = func.call @g(%x) : (f64) -> f64
  return %a : f64
}
func.func @f(%x: f64) -> f64 {
  // expected-error@+1 {{ragged-differentiate: expected a call of a function that does not call itself, got @g}}
  %a = func.call @g(%x) : (f64) -> f64
  return %a : f64
}

// -----

// What a declaration computes is not known.
func.func private @g(%x: f64) -> f64
func.func @f(%x: f64) -> f64 {
  // expected-error@+1 {{ragged-differentiate: expected a call of a function of one block, got @g of 0}}
  %a = func.call @g(%x) : (f64) -> f64
  return %a : f64
}

// -----

// The blocks of a callee say nothing about which of them run.
func.func private @g(%x: f64) -> f64 {
  cf.br ^bb1
^bb1:
  return %x : f64
}
func.func @f(%x: f64) -> f64 {
  // expected-error@+1 {{ragged-differentiate: expected a call of a function of one block, got @g of 2}}
  %a = func.call @g(%x) : (f64) -> f64
  return %a : f64
}
