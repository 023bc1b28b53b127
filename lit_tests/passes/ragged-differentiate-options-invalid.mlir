// RUN: not ragged-opt %s --ragged-differentiate=mode=up 2>&1 | FileCheck %s --check-prefix=CHECK-MODE
// RUN: not ragged-opt %s --ragged-differentiate=function=g 2>&1 | FileCheck %s --check-prefix=CHECK-NAME
// RUN: not ragged-opt %s --ragged-differentiate=arguments=2 2>&1 | FileCheck %s --check-prefix=CHECK-NUMBER
// RUN: not ragged-opt %s --ragged-differentiate=arguments=1 2>&1 | FileCheck %s --check-prefix=CHECK-INDEX

// CHECK-MODE: error: ragged-differentiate: expected a mode among vjp, jvp, got 'up'
// CHECK-NAME: error: ragged-differentiate: expected a function among f, got 'g'
// CHECK-NUMBER: error: ragged-differentiate: expected numbers of arguments below 2, got '2'
// CHECK-INDEX: error: ragged-differentiate: expected an argument of floats, got argument 1 of type tensor<?xi64>
func.func @f(%x: tensor<?xf32>, %i: tensor<?xi64>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
