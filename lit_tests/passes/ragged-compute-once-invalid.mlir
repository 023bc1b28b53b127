// RUN: not ragged-opt %s --ragged-compute-once=loops=1 2>&1 | FileCheck %s

// CHECK: error: expected an option of 'ragged-compute-once' (none), got 'loops'
func.func @f() {
  return
}
