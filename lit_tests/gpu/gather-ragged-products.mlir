// RUN: ragged-opt %s --gather-ragged-products | FileCheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#none = affine_map<(m, n) -> ()>

// The fill before a product and what is done to its elements go with it.
// CHECK-LABEL: func.func @product
// CHECK: memref.alloc
// CHECK: %[[Z:.*]] = memref.alloc
// CHECK: scf.forall (%{{.*}}) in (1) {
// CHECK-NEXT: linalg.generic {{.*}} ins(%{{.*}} : f32)
// CHECK: arith.mulf
// CHECK: linalg.generic {{.*}} outs(%[[Z]] : memref<?x8xf16>)
// CHECK: } {mapping = [#gpu.block<x>]}
// CHECK-NEXT: return
func.func @product(%x: memref<?x16xf16>, %w: memref<16x8xf16>, %n: index, %zero: f32) -> memref<?x8xf16> {
  %y = memref.alloc(%n) : memref<?x8xf32>
  linalg.generic {indexing_maps = [#none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%zero : f32) outs(%y : memref<?x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x16xf16>, memref<16x8xf16>) outs(%y : memref<?x8xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.extf %b : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  }
  %z = memref.alloc(%n) : memref<?x8xf16>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : memref<?x8xf32>) outs(%z : memref<?x8xf16>) {
  ^bb0(%a: f32, %o: f16):
    %0 = arith.truncf %a : f32 to f16
    linalg.yield %0 : f16
  }
  return %z : memref<?x8xf16>
}

// A sum over all rows is made in parts, of zeros on, and these are added to what the result has.
// CHECK-LABEL: func.func @long_sum
// CHECK-SAME: %[[X:[^:]*]]: memref<?x16xf32>, %[[Y:[^:]*]]: memref<?x8xf32>, %[[W:[^:]*]]: memref<16x8xf32>
// CHECK: %[[PARTS:.*]] = memref.alloc
// CHECK: scf.forall
// CHECK:   memref.subview %[[PARTS]]
// CHECK:   linalg.generic {{.*}} ins(%{{.*}} : f32)
// CHECK:   memref.subview %[[X]]
// CHECK:   memref.subview %[[Y]]
// CHECK:   linalg.generic
// CHECK: } {mapping = [#gpu.block<x>]}
// CHECK: linalg.generic {{.*}} ins(%[[PARTS]] : memref<?x16x8xf32>) outs(%[[W]] : memref<16x8xf32>)
func.func @long_sum(%x: memref<?x16xf32>, %y: memref<?x8xf32>, %w: memref<16x8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(k, m, n) -> (k, m)>, affine_map<(k, m, n) -> (k, n)>,
      affine_map<(k, m, n) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%x, %y : memref<?x16xf32>, memref<?x8xf32>) outs(%w : memref<16x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// A product whose sums are f16 stays.
// CHECK-LABEL: func.func @others
// CHECK-NOT: scf.forall
func.func @others(%x: memref<?x16xf16>, %w: memref<16x8xf16>, %y: memref<?x8xf16>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x16xf16>, memref<16x8xf16>) outs(%y : memref<?x8xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %0 = arith.mulf %a, %b : f16
    %1 = arith.addf %o, %0 : f16
    linalg.yield %1 : f16
  }
  return
}
