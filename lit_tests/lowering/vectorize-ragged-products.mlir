// RUN: ragged-opt %s --split-input-file --vectorize-ragged-products="isa=avx512" --canonicalize --cse | FileCheck %s

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// A panel of the right side is copied where more than eight rows read it; eight rows of 32 sums stay in registers, and four of
// the rest.

// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[X:.*]]: memref<?x16xf32>, %[[W:.*]]: memref<16x32xf32>, %[[O:.*]]: memref<?x32xf32>)
// CHECK: %[[PANEL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<16x32xf32>
// CHECK: %[[ROWS:.*]] = scf.if
// CHECK: vector.load %[[W]]
// CHECK: vector.store %{{.*}}, %[[PANEL]]
// CHECK: %{{.*}}:8 = scf.for
// CHECK: vector.load %[[ROWS]]
// CHECK: memref.load %[[X]]
// CHECK: vector.load %[[O]]
// CHECK: vector.store %{{.*}}, %[[O]]
// CHECK: %{{.*}}:4 = scf.for
// CHECK-NOT: linalg.generic
func.func @product(%x: memref<?x16xf32>, %w: memref<16x32xf32>, %o: memref<?x32xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x16xf32>, memref<16x32xf32>) outs(%o : memref<?x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// 512 rows of 256 elements stay in the second cache while the panels of 32 columns go over them.

// CHECK-LABEL: func.func @large
// CHECK-SAME: %{{.*}}: memref<?x1024xf32>
// CHECK-DAG: %[[STRIP:.*]] = arith.constant 512 : index
// CHECK-DAG: %[[DEPTH:.*]] = arith.constant 256 : index
// CHECK-DAG: %[[LANES:.*]] = arith.constant 32 : index
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<256x32xf32>
// CHECK: scf.for %{{.*}} step %[[STRIP]]
// CHECK: scf.for %{{.*}} step %[[DEPTH]]
// CHECK: scf.for %{{.*}} step %[[LANES]]
// CHECK: memref.subview {{.*}} : memref<1024x768xf32>
func.func @large(%x: memref<?x1024xf32>, %w: memref<1024x768xf32>, %o: memref<?x768xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x1024xf32>, memref<1024x768xf32>) outs(%o : memref<?x768xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (k, m)>
#w = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// The length of the sum may be ragged, and the end of a row is masked.

// CHECK-LABEL: func.func @masked
// CHECK: vector.constant_mask [10] : vector<16xi1>
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
func.func @masked(%x: memref<?x8xf32>, %w: memref<?x10xf32>, %o: memref<8x10xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x8xf32>, memref<?x10xf32>) outs(%o : memref<8x10xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %b, %a : f32
    %s = arith.addf %p, %c : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#o = affine_map<(m, n, k) -> (m, n)>

// A right side that is along memory in the sums is turned, square by square; for a few rows the op stays.

// CHECK-LABEL: func.func @turned
// CHECK: scf.if
// CHECK: linalg.generic
// CHECK: else
// CHECK: vector.shuffle
// CHECK: %{{.*}}:8 = scf.for
// CHECK: vector.maskedload
// CHECK-NOT: linalg.generic
func.func @turned(%x: memref<?x16xf32>, %w: memref<?x16xf32>, %o: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x16xf32>, memref<?x16xf32>) outs(%o : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#o = affine_map<(m, n, k) -> (m, n)>

// Where it is turned nothing is read of zeros that were written before; rows that are few have them first.

// CHECK-LABEL: func.func @turned_zeroed
// CHECK-NOT: linalg.fill
// CHECK: scf.if
// CHECK-NEXT: linalg.fill
// CHECK-NEXT: linalg.generic
// CHECK: else
// CHECK-NOT: vector.maskedload %arg2
// CHECK: vector.maskedstore %arg2
// CHECK-NOT: linalg
func.func @turned_zeroed(%x: memref<?x16xf32>, %w: memref<?x16xf32>, %o: memref<?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x16xf32>, memref<?x16xf32>) outs(%o : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// Zeros that were written before are not read.

// CHECK-LABEL: func.func @zeroed
// CHECK-NOT: linalg.fill
// CHECK-NOT: vector.load %arg2
// CHECK: vector.store %{{.*}}, %arg2
func.func @zeroed(%x: memref<?x16xf32>, %w: memref<16x32xf32>, %o: memref<?x32xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<?x32xf32>)
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x16xf32>, memref<16x32xf32>) outs(%o : memref<?x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#o = affine_map<(m, n, k) -> (m, n)>

// What is no sum of products stays.

// CHECK-LABEL: func.func @other
// CHECK: linalg.generic
func.func @other(%x: memref<?x16xf32>, %w: memref<32x16xf32>, %o: memref<?x32xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x16xf32>, memref<32x16xf32>) outs(%o : memref<?x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.subf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}
