// RUN: ragged-opt %s --place-ragged-temporaries | FileCheck %s

#id = affine_map<(d0) -> (d0)>
!part = memref<?xf32, strided<[1], offset: ?>>

// Of static size they stay while shared memory has room; a forall of two indices has a part of the scratch for each pair.
// CHECK-LABEL: func.func @stay
// CHECK-SAME: (%[[N:.*]]: index,
// CHECK: %[[S:.*]] = memref.alloc(%[[N]]) : memref<?x4x16384xf32>
// CHECK: scf.forall (%[[B:.*]], %[[C:.*]]) in
// CHECK: memref.alloc() : memref<16xf32>
// CHECK: memref.subview %[[S]][%[[B]], %[[C]], 0] [1, 1, 16384] [1, 1, 1]
// CHECK-NOT: memref.alloc
func.func @stay(%n: index, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%b, %c) in (%n, 4) {
    %t = memref.alloc() : memref<16xf32>
    %u = memref.alloc() : memref<16384xf32>
    %v = memref.load %x[%b] : memref<?xf32>
    memref.store %v, %t[%c0] : memref<16xf32>
    memref.store %v, %u[%c0] : memref<16384xf32>
  }
  return
}

// One whose size is known at launch has a part of the scratch per iteration.
// CHECK-LABEL: func.func @slots
// CHECK-SAME: (%[[N:.*]]: index, %[[M:.*]]: index,
// CHECK: %[[S:.*]] = memref.alloc(%[[N]], %[[M]]) : memref<?x?xf32>
// CHECK: scf.forall (%[[B:.*]]) in
// CHECK: memref.subview %[[S]][%[[B]], 0] [1, %[[M]]] [1, 1]
func.func @slots(%n: index, %m: index, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%b) in (%n) {
    %t = memref.alloc(%m) : memref<?xf32>
    %v = memref.load %x[%b] : memref<?xf32>
    memref.store %v, %t[%c0] : memref<?xf32>
    %w = memref.load %t[%c0] : memref<?xf32>
    memref.store %w, %x[%b] : memref<?xf32>
  }
  return
}

// One of the length of a component has its place where the component has it in what is written.
// CHECK-LABEL: func.func @storage
// CHECK-SAME: (%{{.*}}: index, %{{.*}}: memref<?xindex>, %[[X:.*]]: memref<?xf32>)
// CHECK: %[[SIZE:.*]] = memref.dim %[[X]], %c0
// CHECK: %[[S:.*]] = memref.alloc(%[[SIZE]]) : memref<?xf32>
// CHECK: %[[LOW:.*]] = memref.load
// CHECK: %[[LENGTH:.*]] = arith.subi
// CHECK: memref.subview %[[S]][%[[LOW]]] [%[[LENGTH]]] [1]
func.func @storage(%n: index, %o: memref<?xindex>, %x: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  scf.forall (%b) in (%n) {
    %low = memref.load %o[%b] : memref<?xindex>
    %next = arith.addi %b, %c1 : index
    %high = memref.load %o[%next] : memref<?xindex>
    %length = arith.subi %high, %low : index
    %t = memref.alloc(%length) : memref<?xf32>
    %v = memref.subview %x[%low] [%length] [1] : memref<?xf32> to !part
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%v : !part) outs(%t : memref<?xf32>) {
    ^bb0(%u: f32, %out: f32):
      linalg.yield %u : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%t : memref<?xf32>) outs(%v : !part) {
    ^bb0(%u: f32, %out: f32):
      %0 = arith.addf %u, %u : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// A slice of a slice: its place starts at the sum of both starts.
// CHECK-LABEL: func.func @slice_of_slice
// CHECK-SAME: (%{{.*}}: index, %{{.*}}: memref<?xindex>, %[[X:.*]]: memref<?xf32>, %[[LOW:.*]]: index, %{{.*}}: index)
// CHECK: %[[SIZE:.*]] = memref.dim %[[X]], %c0
// CHECK: %[[S:.*]] = memref.alloc(%[[SIZE]]) : memref<?xf32>
// CHECK: %[[LENGTH:.*]] = memref.load
// CHECK: %[[START:.*]] = arith.addi
// CHECK: memref.subview %[[S]][%[[START]]] [%[[LENGTH]]]
func.func @slice_of_slice(%n: index, %lengths: memref<?xindex>, %x: memref<?xf32>, %low: index, %rows: index) {
  scf.forall (%b) in (%n) {
    %length = memref.load %lengths[%b] : memref<?xindex>
    %t = memref.alloc(%length) : memref<?xf32>
    %p = memref.subview %x[%low] [%rows] [1] : memref<?xf32> to !part
    %v = memref.subview %p[%b] [%length] [1] : !part to !part
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%v : !part) outs(%t : memref<?xf32>) {
    ^bb0(%u: f32, %out: f32):
      linalg.yield %u : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%t : memref<?xf32>) outs(%v : !part) {
    ^bb0(%u: f32, %out: f32):
      %0 = arith.addf %u, %u : f32
      linalg.yield %0 : f32
    }
  }
  return
}
