// RUN: not ragged-opt %s --ragged-distribute=ranks=0 2>&1 | FileCheck %s
// RUN: not ragged-opt %s --ragged-distribute 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: error: ragged-distribute: expected ranks above 0, got 0
// NONE: expected 'ranks' for 'ragged-distribute'
func.func @f() {
  return
}
