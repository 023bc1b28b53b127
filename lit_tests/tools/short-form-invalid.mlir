// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// An op that is not there.
func.func @unknown(%x: tensor<?xf32>) {
  // expected-error@+1 {{unregistered operation 'ragged.mrge' found in dialect ('ragged')}}
  %m = ragged.mrge %x : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

// Short ops that stop early; MLIR itself says nothing about these.
func.func @no_types(%x: tensor<?xf32>) {
  %m = ragged.merge %x {dim = 0}
  // expected-error@+1 {{'ragged.merge' op expected ':' and the types of its operands and results}}
  return
}

// -----

func.func @no_operand(%x: tensor<?xf32>) {
  // expected-error@+1 {{'ragged.merge' op expected an operand after ','}}
  %m = ragged.merge %x, {dim = 0} : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

// expected-error@+1 {{'ragged.print' op expected operands, attributes, ':' and its types}}
func.func @nothing(%x: tensor<?xf32>) { ragged.print }

// -----

func.func @undefined() {
  // expected-error@+1 {{use of undeclared SSA value name}}
  ragged.print %x : (tensor<?xf32>) -> ()
  return
}
