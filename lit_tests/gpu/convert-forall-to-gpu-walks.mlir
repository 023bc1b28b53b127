// RUN: ragged-opt %s --convert-forall-to-gpu=threads=64 --canonicalize --cse | FileCheck %s

#row = affine_map<(i, d) -> (d)>
#all = affine_map<(i, d) -> (i, d)>
!rows = memref<?x8xf32, strided<[8, 1], offset: ?>>
!sums = memref<8xf32, strided<[1], offset: ?>>

// Running sums of the rows of a component: a thread has what it accumulates in a register.
// CHECK-LABEL: gpu.func @rows_0
// CHECK:         vector.load
// CHECK:         %[[END:.*]]:4 = scf.for %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) -> (f32, f32, f32, f32)
// CHECK-COUNT-1:   vector.load
// CHECK:           %[[NEXT:.*]] = arith.addf %[[SUM]], %{{.*}}
// CHECK-COUNT-1:   vector.store
// CHECK:           scf.yield %[[NEXT]]
// CHECK:         vector.from_elements %[[END]]#0
// CHECK:         vector.store
func.func @rows(%n: index, %m: index, %x: memref<?x8xf32>, %y: memref<?x8xf32>, %z: memref<?x8xf32>) attributes {ragged.checked} {
  %a = memref.alloc(%n) : memref<?x8xf32>
  %b = memref.alloc(%n) : memref<?x8xf32>
  scf.forall (%i) in (%n) {
    %rows = memref.subview %x[%i, 0] [%m, 8] [1, 1] : memref<?x8xf32> to !rows
    %made = memref.subview %a[%i, 0] [%m, 8] [1, 1] : memref<?x8xf32> to !rows
    %sums = memref.subview %b[%i, 0] [1, 8] [1, 1] : memref<?x8xf32> to !sums
    linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["reduction", "parallel"]}
        ins(%rows : !rows) outs(%sums, %made : !sums, !rows) {
    ^bb0(%v: f32, %sum: f32, %out: f32):
      %0 = arith.addf %sum, %v : f32
      linalg.yield %0, %0 : f32, f32
    }
  }
  return
}
