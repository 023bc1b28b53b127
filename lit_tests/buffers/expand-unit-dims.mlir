// RUN: ragged-opt %s --expand-unit-dims --canonicalize | FileCheck %s

// A view that drops the first of two dims of size 1, of an extent that canonicalization finds out.

// CHECK-LABEL: func.func @first
// CHECK: %[[V:.*]] = memref.subview %arg0[%arg2, 0, 0] [1, 1, 3] [1, 1, 1] : memref<7x1x?xi32> to memref<3xi32, strided<[1], offset: ?>>
// CHECK: memref.expand_shape %[[V]] {{\[}}[0, 1]] output_shape [1, 3]
func.func @first(%a: memref<7x1x?xi32>, %x: memref<?x3xi32>, %i: index) -> memref<1x?xi32, strided<[?, 1], offset: ?>> {
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c1 : memref<?x3xi32>
  %s = memref.subview %a[%i, 0, 0] [1, 1, %n] [1, 1, 1] : memref<7x1x?xi32> to memref<1x?xi32, strided<[?, 1], offset: ?>>
  return %s : memref<1x?xi32, strided<[?, 1], offset: ?>>
}

// Dims of size 1 behind the last other one, and strides that are known.

// CHECK-LABEL: func.func @between_and_behind
// CHECK: memref.subview %arg0[%arg1, 0, 0, 0, 0] [1, %arg2, 1, 4, 1] [1, 1, 1, 1, 1] : memref<?x?x1x4x1xi32> to memref<?x4xi32, strided<[4, 1], offset: ?>>
// CHECK: memref.expand_shape %{{.*}} {{\[}}[0], [1, 2, 3]] output_shape [%arg2, 1, 4, 1]
func.func @between_and_behind(%a: memref<?x?x1x4x1xi32>, %i: index, %n: index) -> memref<?x1x4x1xi32, strided<[4, 4, 1, 1], offset: ?>> {
  %s = memref.subview %a[%i, 0, 0, 0, 0] [1, %n, 1, 4, 1] [1, 1, 1, 1, 1]
    : memref<?x?x1x4x1xi32> to memref<?x1x4x1xi32, strided<[4, 4, 1, 1], offset: ?>>
  return %s : memref<?x1x4x1xi32, strided<[4, 4, 1, 1], offset: ?>>
}

// Views that keep no dim of size 1, or drop none, or have no extent that may change, say what they drop.

// CHECK-LABEL: func.func @clear
// CHECK-NOT: expand_shape
// CHECK: return
func.func @clear(%a: memref<7x1x?xi32>, %i: index, %n: index)
    -> (memref<?xi32, strided<[1], offset: ?>>, memref<1x1x?xi32, strided<[?, ?, 1], offset: ?>>, memref<1x4xi32, strided<[?, 1], offset: ?>>) {
  %0 = memref.subview %a[%i, 0, 0] [1, 1, %n] [1, 1, 1] : memref<7x1x?xi32> to memref<?xi32, strided<[1], offset: ?>>
  %1 = memref.subview %a[%i, 0, 0] [1, 1, %n] [1, 1, 1] : memref<7x1x?xi32> to memref<1x1x?xi32, strided<[?, ?, 1], offset: ?>>
  %2 = memref.subview %a[%i, 0, 0] [1, 1, 4] [1, 1, 1] : memref<7x1x?xi32> to memref<1x4xi32, strided<[?, 1], offset: ?>>
  return %0, %1, %2 : memref<?xi32, strided<[1], offset: ?>>, memref<1x1x?xi32, strided<[?, ?, 1], offset: ?>>, memref<1x4xi32, strided<[?, 1], offset: ?>>
}
