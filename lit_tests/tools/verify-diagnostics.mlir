// RUN: ragged-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// What is valid is still printed.

// CHECK-LABEL: func.func @valid
func.func @valid(%x: tensor<?xf32>) {
  return
}

// -----

func.func @invalid(%x: tensor<?xf32>) {
  // expected-error-re@+1 {{'ragged.merge' op expected dim in [0, 0), got {{[0-9]+}}}}
  %m = ragged.merge %x {dim = 0} : (tensor<?xf32>) -> tensor<?xf32>
  return
}
