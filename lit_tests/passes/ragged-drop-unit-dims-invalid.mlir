// RUN: not ragged-opt %s --ragged-drop-unit-dims=dims=1 2>&1 | FileCheck %s

// CHECK: error: expected an option of 'ragged-drop-unit-dims' (none), got 'dims'
func.func @f() {
  return
}
