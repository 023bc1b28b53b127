// RUN: ragged-opt %s --split-long-reductions=tile=64 | FileCheck %s

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// A long array is reduced in parts of four tiles, each from the neutral element; then the parts, from where the
// reduction starts.
// CHECK-LABEL: func.func @total
// CHECK-SAME: %[[X:.*]]: memref<?xf32>, %[[SUM:.*]]: memref<f32>
// CHECK: %[[TILES:.*]] = arith.divui %{{.*}}, %c256
// CHECK: %[[PARTS:.*]] = memref.alloc(%[[TILES]]) : memref<?xf32>
// CHECK: scf.forall (%[[T:.*]]) in (%[[TILES]])
// CHECK:   %[[PART:.*]] = memref.subview %[[PARTS]][%[[T]]] [1] [1]
// CHECK:   %[[NEUTRAL:.*]] = arith.constant -0.0
// CHECK:   linalg.generic {{.*}} ins(%[[NEUTRAL]] : f32) outs(%[[PART]]
// CHECK:   linalg.generic {{.*}}["reduction"]} ins(%{{.*}} : memref<256xf32, {{.*}}>) outs(%[[PART]]
// CHECK: }
// CHECK: linalg.generic {{.*}}["reduction"]} ins(%[[PARTS]] : memref<?xf32>) outs(%[[SUM]]
func.func @total(%x: memref<?xf32>, %sum: memref<f32>) {
  linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%x : memref<?xf32>) outs(%sum : memref<f32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// A short array is not split, nor one with many results, nor a reduction without a neutral element.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: scf.forall
func.func @whole(%x: memref<4096xf32>, %sum: memref<f32>, %y: memref<?x8192xf32>, %sums: memref<8192xf32>, %z: memref<?xf32>) {
  linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%x : memref<4096xf32>) outs(%sum : memref<f32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%y : memref<?x8192xf32>) outs(%sums : memref<8192xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%z : memref<?xf32>) outs(%sum : memref<f32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.subf %a, %o : f32
    linalg.yield %0 : f32
  }
  return
}
