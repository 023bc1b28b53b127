// RUN: ragged-opt %s --fold-matrix-copies | FileCheck %s

// A matrix that is a view of a vector is the vector again: no copy of it is.

// CHECK-LABEL: func.func @folded
// CHECK-SAME: (%[[V:.*]]: memref<?xf32>, %[[T:.*]]: memref<?xf32>
// CHECK: memref.expand_shape %[[V]]
// CHECK-NOT: memref.alloc
// CHECK: memref.copy %[[V]], %[[T]]
// CHECK-NOT: memref.copy
// CHECK: return
func.func @folded(%v: memref<?xf32>, %t: memref<?xf32>, %n: index, %m: index) {
  %x = memref.expand_shape %v [[0, 1]] output_shape [%n, %m] : memref<?xf32> into memref<?x?xf32>
  %made = memref.alloc(%n, %m) : memref<?x?xf32>
  memref.copy %x, %made : memref<?x?xf32> to memref<?x?xf32>
  %flat = memref.collapse_shape %made [[0, 1]] : memref<?x?xf32> into memref<?xf32>
  memref.copy %flat, %t : memref<?xf32> to memref<?xf32>
  return
}

// What was written between is in the vector, and not in the copy.

// CHECK-LABEL: func.func @written
// CHECK: memref.alloc
// CHECK-COUNT-2: memref.copy
func.func @written(%v: memref<?xf32>, %t: memref<?xf32>, %n: index, %m: index, %s: f32) {
  %c0 = arith.constant 0 : index
  %x = memref.expand_shape %v [[0, 1]] output_shape [%n, %m] : memref<?xf32> into memref<?x?xf32>
  %made = memref.alloc(%n, %m) : memref<?x?xf32>
  memref.copy %x, %made : memref<?x?xf32> to memref<?x?xf32>
  %flat = memref.collapse_shape %made [[0, 1]] : memref<?x?xf32> into memref<?xf32>
  memref.store %s, %v[%c0] : memref<?xf32>
  memref.copy %flat, %t : memref<?xf32> to memref<?xf32>
  return
}

// Another grouping, and a copy that is read elsewhere too.

// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: memref.copy
func.func @others(%v: memref<?x?xf32>, %w: memref<?xf32>, %t: memref<?x?xf32>, %u: memref<?xf32>, %n: index, %m: index, %k: index) -> f32 {
  %c0 = arith.constant 0 : index
  %x = memref.expand_shape %v [[0, 1], [2]] output_shape [%n, %m, %k] : memref<?x?xf32> into memref<?x?x?xf32>
  %made = memref.alloc(%n, %m, %k) : memref<?x?x?xf32>
  memref.copy %x, %made : memref<?x?x?xf32> to memref<?x?x?xf32>
  %flat = memref.collapse_shape %made [[0], [1, 2]] : memref<?x?x?xf32> into memref<?x?xf32>
  memref.copy %flat, %t : memref<?x?xf32> to memref<?x?xf32>
  %y = memref.expand_shape %w [[0, 1]] output_shape [%n, %m] : memref<?xf32> into memref<?x?xf32>
  %other = memref.alloc(%n, %m) : memref<?x?xf32>
  memref.copy %y, %other : memref<?x?xf32> to memref<?x?xf32>
  %line = memref.collapse_shape %other [[0, 1]] : memref<?x?xf32> into memref<?xf32>
  memref.copy %line, %u : memref<?xf32> to memref<?xf32>
  %element = memref.load %other[%c0, %c0] : memref<?x?xf32>
  return %element : f32
}

// Parts of one buffer may overlap: the copy of one to the other needs what is between.

// CHECK-LABEL: func.func @overlapping
// CHECK: memref.alloc
// CHECK-COUNT-2: memref.copy
func.func @overlapping(%t: memref<40xf32, strided<[1]>>) {
  %v = memref.subview %t[0] [12] [1] : memref<40xf32, strided<[1]>> to memref<12xf32, strided<[1]>>
  %moved = memref.subview %t[1] [12] [1] : memref<40xf32, strided<[1]>> to memref<12xf32, strided<[1], offset: 1>>
  %x = memref.expand_shape %v [[0, 1]] output_shape [3, 4] : memref<12xf32, strided<[1]>> into memref<3x4xf32>
  %made = memref.alloc() : memref<3x4xf32>
  memref.copy %x, %made : memref<3x4xf32> to memref<3x4xf32>
  %flat = memref.collapse_shape %made [[0, 1]] : memref<3x4xf32> into memref<12xf32>
  memref.copy %flat, %moved : memref<12xf32> to memref<12xf32, strided<[1], offset: 1>>
  return
}
