// RUN: not ragged-opt %s --ragged-check-conform=reports=true 2>&1 | FileCheck %s

// CHECK: error: expected an option of 'ragged-check-conform' (report), got 'reports'
func.func @f() {
  return
}
