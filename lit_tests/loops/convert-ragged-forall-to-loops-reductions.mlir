// RUN: ragged-opt %s --split-input-file --convert-ragged-forall-to-loops | FileCheck %s
// RUN: ragged-opt %s --split-input-file "--convert-ragged-forall-to-loops=chunk=256" | FileCheck %s --check-prefix=SHORT

// Parts of the rows have sums of their own, which are put together in their order.

// CHECK-LABEL: func.func @sums
// CHECK-SAME: (%[[X:.*]]: memref<?x64xf32>, %[[SUMS:.*]]: memref<64xf32>)
// CHECK: %[[N:.*]] = memref.dim %[[X]]
// CHECK: %[[UP:.*]] = arith.addi %[[N]], %c255
// CHECK: %[[TILES:.*]] = arith.divui %[[UP]], %c256
// CHECK: %[[PARTS:.*]] = memref.alloc(%[[TILES]]) : memref<?x64xf32>
// CHECK: scf.for %[[T:.*]] = %{{.*}} to %[[TILES]] step
// CHECK:   %[[LOW:.*]] = arith.muli %[[T]], %c256
// CHECK:   %[[ROWS:.*]] = memref.subview %[[X]][%[[LOW]], 0]
// CHECK:   %[[OWN:.*]] = memref.alloc() : memref<64xf32>
// CHECK:   linalg.generic {{.*}} ins(%[[ROWS]] {{.*}} outs(%[[OWN]]
// CHECK:   %[[PART:.*]] = memref.subview %[[PARTS]][%[[T]], 0] [1, 64]
// CHECK:   linalg.copy ins(%[[OWN]] {{.*}} outs(%[[PART]]
// CHECK: } {ragged.parallel}
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
// CHECK: scf.for
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
// CHECK: scf.for %[[T:.*]] =
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

// A reduction runs with the ops on the same rows, also with those before which something else is done: a fill that has
// nothing to do with them, and the load of a bound.
// CHECK-LABEL: func.func @together
// CHECK: linalg.fill {{.*}} outs(%{{.*}} : memref<64xf32>)
// CHECK: memref.load
// CHECK: scf.for
// CHECK:   math.exp
// CHECK:   iterator_types = ["reduction", "parallel"]
// CHECK:   arith.mulf
// CHECK: } {ragged.parallel}
// CHECK-NOT: scf.for
// CHECK: return
func.func @together(%x: memref<?x64xf32>, %bounds: memref<?xf32>) -> (memref<?x64xf32>, memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %y = memref.alloc(%n) : memref<?x64xf32>
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (r, d)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x64xf32>) outs(%y : memref<?x64xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  %sums = memref.alloc() : memref<64xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<64xf32>)
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (d)>], iterator_types = ["reduction", "parallel"]}
      ins(%y : memref<?x64xf32>) outs(%sums : memref<64xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %0 = arith.addf %sum, %a : f32
    linalg.yield %0 : f32
  }
  %bound = memref.load %bounds[%c0] : memref<?xf32>
  %z = memref.alloc(%n) : memref<?x64xf32>
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (r, d)>], iterator_types = ["parallel", "parallel"]}
      ins(%y : memref<?x64xf32>) outs(%z : memref<?x64xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.mulf %a, %bound : f32
    linalg.yield %0 : f32
  }
  return %z, %sums : memref<?x64xf32>, memref<64xf32>
}

// -----

// Not with what reads its result, which is there after the loop only, nor past a load of what the ops before it write.
// CHECK-LABEL: func.func @after
// CHECK: scf.for
// CHECK:   iterator_types = ["reduction", "parallel"]
// CHECK: } {ragged.parallel}
// CHECK: scf.for
// CHECK:   arith.subf
// CHECK: } {ragged.parallel}
// CHECK: memref.load
// CHECK: scf.for
// CHECK:   arith.mulf
// CHECK: } {ragged.parallel}
func.func @after(%x: memref<?x64xf32>) -> memref<?x64xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<64xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<64xf32>)
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (d)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<?x64xf32>) outs(%sums : memref<64xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %0 = arith.addf %sum, %a : f32
    linalg.yield %0 : f32
  }
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %y = memref.alloc(%n) : memref<?x64xf32>
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (d)>, affine_map<(r, d) -> (r, d)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sums : memref<?x64xf32>, memref<64xf32>) outs(%y : memref<?x64xf32>) {
  ^bb0(%a: f32, %sum: f32, %out: f32):
    %0 = arith.subf %a, %sum : f32
    linalg.yield %0 : f32
  }
  %first = memref.load %y[%c0, %c0] : memref<?x64xf32>
  %z = memref.alloc(%n) : memref<?x64xf32>
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (r, d)>], iterator_types = ["parallel", "parallel"]}
      ins(%y : memref<?x64xf32>) outs(%z : memref<?x64xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.mulf %a, %first : f32
    linalg.yield %0 : f32
  }
  return %z : memref<?x64xf32>
}

// -----

// Rows whose number is known, what cannot be combined, and reductions in loops stay.
// CHECK-LABEL: func.func @others
// CHECK-NOT: ragged.parallel
// CHECK: return
func.func @others(%few: memref<8x64xf32>, %x: memref<?x64xf32>, %sums: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (d)>], iterator_types = ["reduction", "parallel"]}
      ins(%few : memref<8x64xf32>) outs(%sums : memref<64xf32>) {
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
