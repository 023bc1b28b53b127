// RUN: not ragged-opt %s --ragged-decompose-scans=kind=sum 2>&1 | FileCheck %s

// CHECK: error: expected an option of 'ragged-decompose-scans' (none), got 'kind'
func.func @f() {
  return
}
