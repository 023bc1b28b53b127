// RUN: not ragged-opt %s --ragged-fuse=max-op=3 2>&1 | FileCheck %s

// CHECK: error: expected an option of 'ragged-fuse' (max-ops, siblings, rows), got 'max-op'
func.func @f() {
  return
}
