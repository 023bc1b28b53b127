// RUN: not ragged-opt %s --ragged-insert-checks=arguments=3 2>&1 | FileCheck %s

// CHECK: error: expected {{.*}} for 'arguments'
func.func @f() {
  return
}
