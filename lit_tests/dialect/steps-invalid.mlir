// RUN: ragged-opt %s --split-input-file --verify-diagnostics

!x = tensor<3x?xf32, #ragged.layout<"dr">>
func.func @no_elements(%s: tensor<3xf32>) {
  // expected-error@+1 {{'ragged.steps' op expected ragged operands, and then states, got no ragged one}}
  %0:2 = ragged.steps %s ({
  ^bb0(%state: tensor<?xf32>):
    ragged.yield %state : (tensor<?xf32>) -> ()
  }) : (tensor<3xf32>) -> (!x, tensor<3xf32>)
  return
}

// -----

!x = tensor<3x?xf32, #ragged.layout<"dr">>
func.func @states_first(%x: !x, %s: tensor<3xf32>) {
  // expected-error@+1 {{expected ragged operands, and then dense states of rank 1 or more, got layout "dr"}}
  %0:2 = ragged.steps %s, %x ({
  ^bb0(%state: tensor<?xf32>, %row: tensor<?xf32>):
    ragged.yield %state : (tensor<?xf32>) -> ()
  }) : (tensor<3xf32>, !x) -> (!x, tensor<3xf32>)
  return
}

// -----

// Components have elements, not lists.
!x = tensor<3x?x?xf32, #ragged.layout<"drr">>
func.func @lists(%x: !x, %s: tensor<3xf32>) {
  // expected-error@+1 {{expected ragged operands of layout "dr" or "dr|d", got "drr"}}
  %0:2 = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?xf32>, %state: tensor<?xf32>):
    ragged.yield %state : (tensor<?xf32>) -> ()
  }) : (!x, tensor<3xf32>) -> (!x, tensor<3xf32>)
  return
}

// -----

!x = tensor<3x?xf32, #ragged.layout<"dr">>
func.func @batches(%x: !x, %s: tensor<2xf32>) {
  // expected-error@+1 {{expected operands of one batch extent, got 2 and 3}}
  %0:2 = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?xf32>, %state: tensor<?xf32>):
    ragged.yield %state : (tensor<?xf32>) -> ()
  }) : (!x, tensor<2xf32>) -> (!x, tensor<2xf32>)
  return
}

// -----

!x = tensor<3x?xf32, #ragged.layout<"dr">>
func.func @empty(%x: !x, %s: tensor<3xf32>) {
  // expected-error@+1 {{expected steps of one block, got 0}}
  %0:2 = ragged.steps %x, %s : (!x, tensor<3xf32>) -> (!x, tensor<3xf32>)
  return
}

// -----

// Rows of any number: that of components which have a step.
!x = tensor<3x?xf32, #ragged.layout<"dr">>
func.func @arguments(%x: !x, %s: tensor<3xf32>) {
  // expected-error@+1 {{expected steps of (tensor<?xf32>, tensor<?xf32>), got (tensor<3xf32>, tensor<?xf32>)}}
  %0:2 = ragged.steps %x, %s ({
  ^bb0(%row: tensor<3xf32>, %state: tensor<?xf32>):
    ragged.yield %state : (tensor<?xf32>) -> ()
  }) : (!x, tensor<3xf32>) -> (!x, tensor<3xf32>)
  return
}

// -----

!x = tensor<3x?xf32, #ragged.layout<"dr">>
func.func @end(%x: !x, %s: tensor<3xf32>) {
  // expected-error@+1 {{expected a function of steps that ends in 'ragged.yield', got 'func.return'}}
  %0:2 = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?xf32>, %state: tensor<?xf32>):
    func.return
  }) : (!x, tensor<3xf32>) -> (!x, tensor<3xf32>)
  return
}

// -----

!x = tensor<3x?xf32, #ragged.layout<"dr">>
func.func @next(%x: !x, %s: tensor<3xf32>, %other: tensor<?xf64>) {
  // expected-error@+1 {{expected steps that yield (tensor<?xf32>) first, got (tensor<?xf64>)}}
  %0:2 = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?xf32>, %state: tensor<?xf32>):
    ragged.yield %other : (tensor<?xf64>) -> ()
  }) : (!x, tensor<3xf32>) -> (!x, tensor<3xf32>)
  return
}

// -----

!x = tensor<3x?xf32, #ragged.layout<"dr">>
func.func @rows(%x: !x, %s: tensor<3xf32>, %other: tensor<4xf32>) {
  // expected-error@+1 {{expected steps that yield dense rows of any number, got tensor<4xf32>}}
  %0:3 = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?xf32>, %state: tensor<?xf32>):
    ragged.yield %state, %other : (tensor<?xf32>, tensor<4xf32>) -> ()
  }) : (!x, tensor<3xf32>) -> (!x, !x, tensor<3xf32>)
  return
}

// -----

// The states in the end come last.
!x = tensor<3x?xf32, #ragged.layout<"dr">>
func.func @results(%x: !x, %s: tensor<3xf32>) {
  // expected-error@+1 {{expected 2 results, got 1}}
  %0 = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?xf32>, %state: tensor<?xf32>):
    ragged.yield %state : (tensor<?xf32>) -> ()
  }) : (!x, tensor<3xf32>) -> (!x)
  return
}

// -----

!x = tensor<3x?xf32, #ragged.layout<"dr">>
func.func @result_types(%x: !x, %s: tensor<3xf32>) {
  // expected-error@+1 {{expected result type tensor<3x?xf32, #ragged.layout<"dr">>, got tensor<3xf32>}}
  %0:2 = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?xf32>, %state: tensor<?xf32>):
    ragged.yield %state : (tensor<?xf32>) -> ()
  }) : (!x, tensor<3xf32>) -> (tensor<3xf32>, !x)
  return
}

// -----

!x = tensor<3x?xf32, #ragged.layout<"dr">>
func.func @reverse(%x: !x, %s: tensor<3xf32>) {
  // expected-error@+1 {{expected 'reverse' without a value, got false}}
  %0:2 = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?xf32>, %state: tensor<?xf32>):
    ragged.yield %state : (tensor<?xf32>) -> ()
  }) {reverse = false} : (!x, tensor<3xf32>) -> (!x, tensor<3xf32>)
  return
}

// -----

!x = tensor<3x?xf32, #ragged.layout<"dr">>
func.func @numbers(%x: !x, %s: f32) {
  // expected-error@+1 {{'ragged.steps' op expected tensors, got f32}}
  %0:2 = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?xf32>, %state: f32):
    ragged.yield %state : (f32) -> ()
  }) : (!x, f32) -> (!x, f32)
  return
}
