// RUN: not ragged-opt %s --ragged-differentiate 2>&1 | FileCheck %s

// CHECK: error: ragged-differentiate: expected a function among f, g, got no option for it
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

func.func @g(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
