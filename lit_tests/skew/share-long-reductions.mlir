// RUN: ragged-opt %s --split-input-file --share-long-reductions | FileCheck %s
// RUN: ragged-opt %s --split-input-file --share-long-reductions="elements=256" | FileCheck %s --check-prefix=SHORT

// Parts of the rows have sums of their own, which are put together in their order.

// CHECK-LABEL: func.func @sums
// CHECK-SAME: (%[[X:.*]]: memref<?x64xf32>, %[[SUMS:.*]]: memref<64xf32>)
// CHECK: %[[N:.*]] = memref.dim %[[X]]
// CHECK: %[[UP:.*]] = arith.addi %[[N]], %c255
// CHECK: %[[TILES:.*]] = arith.divui %[[UP]], %c256
// CHECK: %[[PARTS:.*]] = memref.alloc(%[[TILES]]) : memref<?x64xf32>
// CHECK: scf.forall (%[[T:.*]]) in (%[[TILES]]) {
// CHECK:   %[[LOW:.*]] = arith.muli %[[T]], %c256
// CHECK:   %[[ROWS:.*]] = memref.subview %[[X]][%[[LOW]], 0]
// CHECK:   %[[OWN:.*]] = memref.alloc() : memref<64xf32>
// CHECK:   linalg.generic {{.*}} ins(%[[ROWS]] {{.*}} outs(%[[OWN]]
// CHECK:   %[[PART:.*]] = memref.subview %[[PARTS]][%[[T]], 0] [1, 64]
// CHECK:   linalg.copy ins(%[[OWN]] {{.*}} outs(%[[PART]]
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[PARTS]] {{.*}} outs(%[[SUMS]]

// A part has 16 elements for each result, too.
// SHORT-LABEL: func.func @sums
// SHORT: arith.divui %{{.*}}, %c16
func.func @sums(%x: memref<?x64xf32>, %sums: memref<64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (d)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<?x64xf32>) outs(%sums : memref<64xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %0 = arith.addf %sum, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// A product of transposed rows: 64 x 64 results, of at least 1,024 rows each.
// CHECK-LABEL: func.func @product
// CHECK: arith.divui %{{.*}}, %c1024
// CHECK: scf.forall
// CHECK:   %[[OWN:.*]] = memref.alloc() : memref<64x64xf32>
// CHECK:   linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} {{.*}} outs(%[[OWN]]
func.func @product(%x: memref<?x64xf32>, %g: memref<?x64xf32>, %w: memref<64x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(k, n, r) -> (r, k)>, affine_map<(k, n, r) -> (r, n)>, affine_map<(k, n, r) -> (k, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %g : memref<?x64xf32>, memref<?x64xf32>) outs(%w : memref<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

// An index is that of all rows.
// CHECK-LABEL: func.func @first
// CHECK: scf.forall (%[[T:.*]]) in
// CHECK:   %[[LOW:.*]] = arith.muli %[[T]], %c16384
// CHECK:   %[[I:.*]] = linalg.index 0
// CHECK:   arith.addi %[[I]], %[[LOW]]
func.func @first(%x: memref<?xi1>, %at: memref<index>) {
  %none = arith.constant -1 : index
  linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> ()>], iterator_types = ["reduction"]}
      ins(%x : memref<?xi1>) outs(%at : memref<index>) {
  ^bb0(%a: i1, %best: index):
    %i = linalg.index 0 : index
    %0 = arith.select %a, %i, %none : index
    %1 = arith.minui %best, %0 : index
    linalg.yield %1 : index
  }
  return
}

// -----

// Rows whose number is known, results as many as rows, what cannot be combined, and loops stay.
// CHECK-LABEL: func.func @others
// CHECK-NOT: scf.forall
// CHECK: return
func.func @others(%few: memref<8x64xf32>, %x: memref<?x64xf32>, %each: memref<?xf32>, %sums: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (d)>], iterator_types = ["reduction", "parallel"]}
      ins(%few : memref<8x64xf32>) outs(%sums : memref<64xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %0 = arith.addf %sum, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (r)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x64xf32>) outs(%each : memref<?xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %0 = arith.addf %sum, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (d)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<?x64xf32>) outs(%sums : memref<64xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %0 = arith.divf %a, %sum : f32
    linalg.yield %0 : f32
  }
  scf.for %i = %c0 to %n step %c1 {
    linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (d)>], iterator_types = ["reduction", "parallel"]}
        ins(%x : memref<?x64xf32>) outs(%sums : memref<64xf32>) {
    ^bb0(%a: f32, %sum: f32):
      %0 = arith.addf %sum, %a : f32
      linalg.yield %0 : f32
    }
  }
  return
}
