// RUN: not ragged-opt %s --ragged-differentiate=mode=up 2>&1 | FileCheck %s

// CHECK: error: ragged-differentiate: expected a mode among vjp, jvp, got 'up'
func.func @f(%x: tensor<?xf32>, %i: tensor<?xi64>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
