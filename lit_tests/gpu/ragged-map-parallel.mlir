// RUN: ragged-opt %s --ragged-map-parallel | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>

// Tiles are done by a block each, whatever is done in them.
// CHECK-LABEL: func.func @tiles
// CHECK-COUNT-3: } {ragged.mapping = {schedule = "general"}}
func.func @tiles(%n: index, %x: memref<64xf32>, %y: memref<8x16xf32>, %z: memref<8xf32>, %at: memref<64xindex>) {
  scf.forall (%t) in (%n) {
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<64xf32>) {
    ^bb0(%out: f32):
      %0 = arith.addf %out, %out : f32
      linalg.yield %0 : f32
    }
  }
  scf.forall (%t) in (%n) {
    linalg.generic {indexing_maps = [#id2, #first], iterator_types = ["parallel", "reduction"]} ins(%y : memref<8x16xf32>) outs(%z : memref<8xf32>) {
    ^bb0(%v: f32, %out: f32):
      %0 = arith.addf %v, %out : f32
      linalg.yield %0 : f32
    }
  }
  scf.forall (%t) in (%n) {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%at : memref<64xindex>) outs(%x : memref<64xf32>) {
    ^bb0(%k: index, %out: f32):
      %0 = memref.load %z[%k] : memref<8xf32>
      linalg.yield %0 : f32
    }
  }
  return
}

// A component whose work is straight-line gets as many threads as it keeps busy; what is done step by step gets one,
// and so does a walk along it.
// CHECK-LABEL: func.func @components
// CHECK: linalg.generic
// CHECK: {ragged.mapping = {schedule = "general", threads = 64 : i64}}
// CHECK: scf.for
// CHECK: {ragged.mapping = {schedule = "general", threads = 1 : i64}}
// CHECK: linalg.generic
// CHECK: {ragged.mapping = {schedule = "general", threads = 1 : i64}}
// CHECK: {ragged.mapping = {schedule = "general", threads = 1 : i64}}
func.func @components(%n: index, %o: memref<?xindex>, %x: memref<?xf32>, %s: memref<?xf32>) {
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
  scf.forall (%b) in (%n) {
    %low = memref.load %o[%b] : memref<?xindex>
    %part = memref.subview %x[%low] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %sum = memref.subview %s[%b] [1] [1] : memref<?xf32> to memref<f32, strided<[], offset: ?>>
    linalg.generic {indexing_maps = [#none, #id], iterator_types = ["reduction"]}
        outs(%sum, %part : memref<f32, strided<[], offset: ?>>, memref<?xf32, strided<[1], offset: ?>>) {
    ^bb0(%so_far: f32, %out: f32):
      %0 = arith.addf %so_far, %out : f32
      linalg.yield %0, %0 : f32, f32
    }
  }
  scf.forall (%b) in (1) {
    memref.store %n, %o[%c0] : memref<?xindex>
  } {ragged.mapping = {threads = 1 : i64}}
  return
}
