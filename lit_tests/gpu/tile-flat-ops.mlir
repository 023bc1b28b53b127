// RUN: ragged-opt %s --tile-flat-ops=tile=64 --cse | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>

// Flat ops that read the same tile share a forall; whole tiles have static extents.
// CHECK-LABEL: func.func @flat
// CHECK: %[[TILES:.*]] = arith.divui %{{.*}}, %c64
// CHECK: scf.forall (%[[T:.*]]) in (%[[TILES]])
// CHECK:   arith.muli %[[T]], %c64
// CHECK:   scf.if
// CHECK:     linalg.generic {{.*}} memref<64xf32
// CHECK:     linalg.generic {{.*}} memref<64xf32
// CHECK:   } else {
// CHECK:     linalg.generic {{.*}} memref<?xf32
// CHECK:     linalg.generic {{.*}} memref<?xf32
// CHECK: }
// CHECK-NOT: scf.forall
func.func @flat(%x: memref<?xf32>) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %y = memref.alloc(%n) : memref<?xf32>
  %z = memref.alloc(%n) : memref<?xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%v: f32, %out: f32):
    %0 = arith.addf %v, %v : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : memref<?xf32>) outs(%z : memref<?xf32>) {
  ^bb0(%v: f32, %out: f32):
    %0 = arith.mulf %v, %v : f32
    linalg.yield %0 : f32
  }
  return %z : memref<?xf32>
}

// A tile of rows has as many as make up the tile's elements.
// CHECK-LABEL: func.func @row
// CHECK: scf.forall (%{{.*}}) in (2)
// CHECK:   memref.subview %{{.*}}[%{{.*}}, 0] [4, 16] [1, 1]
// CHECK:   iterator_types = ["parallel", "reduction"]
func.func @row(%x: memref<8x16xf32>, %y: memref<8xf32>) {
  linalg.generic {indexing_maps = [#id2, #first], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x16xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%v: f32, %out: f32):
    %0 = arith.addf %v, %out : f32
    linalg.yield %0 : f32
  }
  return
}

// An op that reads what all tiles of another one write has a forall of its own.
// CHECK-LABEL: func.func @apart
// CHECK: scf.forall
// CHECK:   arith.addf
// CHECK-NOT: linalg.generic
// CHECK: scf.forall
// CHECK:   memref.load %arg0
func.func @apart(%x: memref<64xf32>, %at: memref<64xindex>, %y: memref<64xf32>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<64xf32>) {
  ^bb0(%out: f32):
    %0 = arith.addf %out, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%at : memref<64xindex>) outs(%y : memref<64xf32>) {
  ^bb0(%k: index, %out: f32):
    %0 = memref.load %x[%k] : memref<64xf32>
    linalg.yield %0 : f32
  }
  return
}

// An op of which no loop can be cut is done by one block.
// CHECK-LABEL: func.func @whole
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK:   linalg.generic
func.func @whole(%x: memref<?xf32>, %sum: memref<f32>) {
  linalg.generic {indexing_maps = [#id, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : memref<?xf32>) outs(%sum : memref<f32>) {
  ^bb0(%v: f32, %out: f32):
    %0 = arith.addf %v, %out : f32
    linalg.yield %0 : f32
  }
  return
}

// What is mapped has a forall of its own, with tiles as large as it says; what follows without settings joins it.
// CHECK-LABEL: func.func @mapped
// CHECK: scf.forall
// CHECK:   arith.addf
// CHECK: scf.forall
// CHECK:   arith.muli %{{.*}}, %c32
// CHECK:   arith.mulf
// CHECK:   arith.subf
// CHECK: } {ragged.mapping = {threads = 64 : i64}}
// CHECK-NOT: scf.forall
func.func @mapped(%x: memref<?xf32>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<?xf32>) {
  ^bb0(%out: f32):
    %0 = arith.addf %out, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<?xf32>)
      attrs = {ragged.mapping = {threads = 64, tile = 32}} {
  ^bb0(%out: f32):
    %0 = arith.mulf %out, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<?xf32>) {
  ^bb0(%out: f32):
    %0 = arith.subf %out, %out : f32
    linalg.yield %0 : f32
  }
  return
}
