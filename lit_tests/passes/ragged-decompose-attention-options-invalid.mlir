// RUN: not ragged-opt %s --ragged-decompose-attention=head-dims=-1 2>&1 | FileCheck %s

// CHECK: error: expected head-dims of at least 0, got -1
func.func @f() {
  return
}
