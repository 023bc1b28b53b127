// RUN: ragged-opt %s --convert-forall-to-gpu=unroll=2 --canonicalize --cse | FileCheck %s

#id = affine_map<(d0) -> (d0)>
!whole = memref<4096xf32, strided<[1], offset: ?>>
!part = memref<?xf32, strided<[1], offset: ?>>

// Whole tiles are loaded and stored 16 bytes at a time, all loads of a turn before its stores; the
// last tile goes element by element. Nothing is combined: no shuffle, no shared memory.
// CHECK: gpu.func @f_0
// CHECK-NOT: workgroup
// CHECK-NOT: gpu.shuffle
// CHECK: scf.if
// CHECK:   scf.for
// CHECK-COUNT-2: vector.load %{{.*}} {alignment = 16 : i64} : memref<4096xf32, strided<[1], offset: ?>>, vector<4xf32>
// CHECK-NOT: vector.load
// CHECK-COUNT-2: vector.store %{{.*}} {alignment = 16 : i64}
// CHECK: } else {
// CHECK-NOT: vector
// CHECK:   scf.for
// CHECK-COUNT-2: memref.load %{{.*}} : memref<?xf32
// CHECK-NOT: memref.load
// CHECK-COUNT-2: memref.store %{{.*}} : memref<?xf32
// CHECK: gpu.return
func.func @f(%x: memref<?xf32>, %tiles: index, %n: index) {
  %c4096 = arith.constant 4096 : index
  scf.forall (%t) in (%tiles) {
    %low = arith.muli %t, %c4096 : index
    %end = arith.addi %low, %c4096 : index
    %fits = arith.cmpi sle, %end, %n : index
    scf.if %fits {
      %v = memref.subview %x[%low] [4096] [1] : memref<?xf32> to !whole
      linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%v : !whole) {
      ^bb0(%out: f32):
        %0 = arith.addf %out, %out : f32
        linalg.yield %0 : f32
      }
    } else {
      %left = arith.subi %n, %low : index
      %v = memref.subview %x[%low] [%left] [1] : memref<?xf32> to !part
      linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%v : !part) {
      ^bb0(%out: f32):
        %0 = arith.addf %out, %out : f32
        linalg.yield %0 : f32
      }
    }
  } {ragged.mapping = {schedule = "general"}}
  return
}

// A view that starts anywhere may not be aligned.
// CHECK: gpu.func @anywhere_0
// CHECK-NOT: vector.load
// CHECK: gpu.return
func.func @anywhere(%x: memref<?xf32>, %tiles: index) {
  scf.forall (%t) in (%tiles) {
    %v = memref.subview %x[%t] [4096] [1] : memref<?xf32> to !whole
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%v : !whole) {
    ^bb0(%out: f32):
      %0 = arith.addf %out, %out : f32
      linalg.yield %0 : f32
    }
  }
  return
}
