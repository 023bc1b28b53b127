// RUN: not ragged-opt %s --ragged-raise-attention=head-dims=all 2>&1 | FileCheck %s

// CHECK: error: expected an integer for 'head-dims', got 'all'
func.func @f() {
  return
}
