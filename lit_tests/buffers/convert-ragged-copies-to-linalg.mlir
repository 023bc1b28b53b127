// RUN: ragged-opt %s --convert-ragged-copies-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @copy
// CHECK-SAME: %[[A:.*]]: memref<?xf32>, %[[B:.*]]: memref<?xf32, strided<[2]>>
// CHECK-NEXT: linalg.copy ins(%[[A]] : memref<?xf32>) outs(%[[B]] : memref<?xf32, strided<[2]>>)
// CHECK-NEXT: return
func.func @copy(%a: memref<?xf32>, %b: memref<?xf32, strided<[2]>>) {
  memref.copy %a, %b : memref<?xf32> to memref<?xf32, strided<[2]>>
  memref.copy %a, %a : memref<?xf32> to memref<?xf32>
  return
}
