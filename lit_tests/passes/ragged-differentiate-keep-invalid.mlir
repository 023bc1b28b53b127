// RUN: not ragged-opt %s --ragged-differentiate="mode=jvp keep" 2>&1 | FileCheck %s

// CHECK: error: ragged-differentiate: expected mode vjp with keep, got 'jvp'
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
