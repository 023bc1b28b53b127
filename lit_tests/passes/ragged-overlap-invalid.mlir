// RUN: not ragged-opt %s --ragged-overlap=chunks=2 2>&1 | FileCheck %s

// CHECK: error: expected an option of 'ragged-overlap' (none), got 'chunks'
func.func @f() {
  return
}
