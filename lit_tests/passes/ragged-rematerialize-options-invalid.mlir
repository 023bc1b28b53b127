// RUN: not ragged-opt %s --ragged-rematerialize="function=f gradient=f" 2>&1 | FileCheck %s

// CHECK: error: ragged-rematerialize: expected a gradient that nothing calls, got the function itself
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
