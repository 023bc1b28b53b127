// RUN: not ragged-opt %s --ragged-distribute=ranks=0 2>&1 | FileCheck %s

// CHECK: error: ragged-distribute: expected ranks above 0, got 0
func.func @f() {
  return
}
