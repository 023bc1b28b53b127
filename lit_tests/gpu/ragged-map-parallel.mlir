// RUN: ragged-opt %s --ragged-map-parallel=tile=64 --cse | FileCheck %s

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
// CHECK: } {ragged.schedule = "flat"}
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
// CHECK: } {ragged.schedule = "row"}
func.func @row(%x: memref<8x16xf32>, %y: memref<8xf32>) {
  linalg.generic {indexing_maps = [#id2, #first], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x16xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%v: f32, %out: f32):
    %0 = arith.addf %v, %out : f32
    linalg.yield %0 : f32
  }
  return
}

// CHECK-LABEL: func.func @gather
// CHECK: {ragged.schedule = "gather"}
func.func @gather(%x: memref<?xf32>, %at: memref<?xindex>, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%at : memref<?xindex>) outs(%y : memref<?xf32>) {
  ^bb0(%k: index, %out: f32):
    %0 = memref.load %x[%k] : memref<?xf32>
    linalg.yield %0 : f32
  }
  return
}

// A component is a segment when its work is straight-line, else general; one thread's work is serial.
// CHECK-LABEL: func.func @components
// CHECK: linalg.generic
// CHECK: {ragged.schedule = "segment"}
// CHECK: scf.for
// CHECK: {ragged.schedule = "general"}
// CHECK: {ragged.schedule = "serial"}
func.func @components(%n: index, %o: memref<?xindex>, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%b) in (%n) {
    %low = memref.load %o[%b] : memref<?xindex>
    %part = memref.subview %x[%low] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%part : memref<?xf32, strided<[1], offset: ?>>) {
    ^bb0(%out: f32):
      %0 = arith.addf %out, %out : f32
      linalg.yield %0 : f32
    }
  }
  scf.forall (%b) in (%n) {
    scf.for %i = %c0 to %b step %c1 {
      memref.store %i, %o[%i] : memref<?xindex>
    }
  }
  scf.forall (%b) in (1) {
    memref.store %n, %o[%c0] : memref<?xindex>
  } {ragged.serial}
  return
}
