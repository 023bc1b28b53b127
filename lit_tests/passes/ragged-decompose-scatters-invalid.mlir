// RUN: not ragged-opt %s --ragged-decompose-scatters="features=-1" 2>&1 | FileCheck %s
// RUN: not ragged-opt %s --ragged-decompose-scatters="feature=1" 2>&1 | FileCheck %s --check-prefix=NAME

// CHECK: error: expected features of at least 0, got -1
// NAME: error: expected an option of 'ragged-decompose-scatters' (features, computed, across), got 'feature'
func.func @f() {
  return
}
