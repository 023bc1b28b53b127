// RUN: ragged-opt %s --copy-strided-casts | FileCheck %s

// One column of two: its rows do not follow one another, as the result type says.
// CHECK-LABEL: func.func @column
// CHECK: %[[VIEW:.*]] = memref.subview
// CHECK: %[[COPY:.*]] = memref.alloc(%{{.*}}, %{{.*}}) : memref<?x?xi32>
// CHECK: memref.copy %[[VIEW]], %[[COPY]]
// CHECK: return %[[COPY]]
func.func @column(%x: memref<?x2xi32>, %n: index) -> memref<?x?xi32> {
  %view = memref.subview %x[0, 0] [%n, 1] [1, 1] : memref<?x2xi32> to memref<?x1xi32, strided<[2, 1]>>
  %cast = memref.cast %view : memref<?x1xi32, strided<[2, 1]>> to memref<?x?xi32>
  return %cast : memref<?x?xi32>
}

// Nor do they where only data says how many columns there are.
// CHECK-LABEL: func.func @columns
// CHECK: memref.copy
func.func @columns(%x: memref<?x?xi32>, %n: index, %m: index) -> memref<?x?xi32> {
  %view = memref.subview %x[0, 0] [%n, %m] [1, 1] : memref<?x?xi32> to memref<?x?xi32, strided<[?, 1]>>
  %cast = memref.cast %view : memref<?x?xi32, strided<[?, 1]>> to memref<?x?xi32>
  return %cast : memref<?x?xi32>
}

// The first rows, whole, are as they shall be; so is a vector.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: memref.copy
// CHECK: return
func.func @rows(%x: memref<?x?xi32>, %n: index) -> (memref<?x?xi32>, memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c1 : memref<?x?xi32>
  %view = memref.subview %x[0, 0] [%n, %m] [1, 1] : memref<?x?xi32> to memref<?x?xi32, strided<[?, 1]>>
  %cast = memref.cast %view : memref<?x?xi32, strided<[?, 1]>> to memref<?x?xi32>
  %y = memref.alloc(%n) : memref<?xi32>
  %part = memref.subview %y[0] [4] [1] : memref<?xi32> to memref<4xi32, strided<[1]>>
  %vector = memref.cast %part : memref<4xi32, strided<[1]>> to memref<?xi32>
  return %cast, %vector : memref<?x?xi32>, memref<?xi32>
}

// A layout that says what strides there are may say that they are any.
// CHECK-LABEL: func.func @any
// CHECK-NOT: memref.copy
// CHECK: return
func.func @any(%x: memref<?x2xi32, strided<[2, 1]>>) -> memref<?x?xi32, strided<[?, ?], offset: ?>> {
  %cast = memref.cast %x : memref<?x2xi32, strided<[2, 1]>> to memref<?x?xi32, strided<[?, ?], offset: ?>>
  return %cast : memref<?x?xi32, strided<[?, ?], offset: ?>>
}
