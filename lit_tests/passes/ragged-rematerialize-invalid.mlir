// RUN: not ragged-opt %s --split-input-file --ragged-rematerialize 2>&1 | FileCheck %s
// RUN: not ragged-opt %s --split-input-file --ragged-rematerialize="function=g gradient=h" 2>&1 | FileCheck %s --check-prefix=NAMED

// CHECK: error: ragged-rematerialize: expected one function and its gradient '…_vjp', got f, h
// NAMED: error: ragged-rematerialize: expected 'g' and its gradient 'h', got f, h
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
func.func @h(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// CHECK: [[# @LINE + 6]]:1: error: ragged-rematerialize: expected the function's arguments first, tensor<?xf32>, index, got tensor<?xf32>, tensor<?xf32>
func.func @f(%x: tensor<?xf32>, %k: index) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
func.func private @declared(%x: tensor<?xf32>)

func.func @f_vjp(%x: tensor<?xf32>, %c: tensor<?xf32>) -> tensor<?xf32> {
  return %c : tensor<?xf32>
}

// -----

// CHECK: error: ragged-rematerialize: expected a function of one block, got 2
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<?xf32>
}
func.func @f_vjp(%x: tensor<?xf32>, %c: tensor<?xf32>) -> tensor<?xf32> {
  return %c : tensor<?xf32>
}

// -----

// CHECK: error: ragged-rematerialize: expected one function and its gradient '…_vjp', got none
module {}

// -----

// CHECK: error: ragged-rematerialize: expected a gradient that nothing calls, got 'func.call' of it
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
func.func @f_vjp(%x: tensor<?xf32>, %c: tensor<?xf32>) -> tensor<?xf32> {
  return %c : tensor<?xf32>
}
func.func @step(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = call @f_vjp(%x, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
