// RUN: not ragged-opt %s 2>&1 | FileCheck %s

// Lines and columns are those of this file, after ops whose generic form is longer.

// CHECK: columns.mlir:8:103: error: 'ragged.merge' op expected dim in [0, 0), got 0
// CHECK-NOT: error:
func.func @f(%x: tensor<?xf32>) {
  ragged.print %x : (tensor<?xf32>) -> () ragged.print %x {label = "é"} : (tensor<?xf32>) -> () %m = ragged.merge %x {dim = 0} : (tensor<?xf32>) -> tensor<?xf32>
  return
}
