// RUN: not ragged-opt %s --split-input-file --verify-diagnostics 2>&1 | FileCheck %s

// An error that no comment expects, one with another text, and one that does not come.

// CHECK: :7:8: error: unexpected error: 'ragged.merge' op expected dim in [0, 0), got 0
func.func @unexpected(%x: tensor<?xf32>) {
  %m = ragged.merge %x {dim = 0} : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

// CHECK: unexpected error: 'ragged.merge' op expected dim in [0, 0), got 0
// CHECK: expected error "got 7" was not produced
func.func @other(%x: tensor<?xf32>) {
  // expected-error@+1 {{got 7}}
  %m = ragged.merge %x {dim = 0} : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

// CHECK: expected error "anything" was not produced
// CHECK-NOT: error:
func.func @missing() { // expected-error {{anything}}
  return
}
