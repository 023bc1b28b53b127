// RUN: ragged-opt %s --split-input-file --vectorize-ragged-products="isa=avx512" --canonicalize --cse | FileCheck %s

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// A panel of the right side is copied; eight rows of 32 sums stay in registers, and four of the rest.

// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[X:.*]]: memref<?x16xf32>, %[[W:.*]]: memref<16x32xf32>, %[[O:.*]]: memref<?x32xf32>)
// CHECK: %[[PANEL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<16x32xf32>
// CHECK: vector.load %[[W]]
// CHECK: vector.store %{{.*}}, %[[PANEL]]
// CHECK: %{{.*}}:8 = scf.for
// CHECK: vector.load %[[PANEL]]
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

// Where groups have right sides of their own, up to 32 rows read a panel where it is. Meanwhile they ask for what is
// behind the right side, in its order, each block for one of two parts; of more rows the first two blocks do.

// CHECK-LABEL: func.func @groups
// CHECK-SAME: (%[[X:.*]]: memref<?x16xf32>, %[[W:.*]]: memref<?x16x40xf32>, %{{.*}}: memref<?x40xf32>, %{{.*}}: index)
// CHECK: %[[OWN:.*]] = memref.subview %[[W]]
// CHECK: %[[MANY:.*]] = arith.cmpi sgt, %{{.*}}, %c32
// CHECK: scf.if %[[MANY]] {
// CHECK: vector.store %{{.*}} : memref<16x32xf32>, vector<32xf32>
// CHECK: %{{.*}}:8 = scf.for
// CHECK: memref.prefetch %{{.*}}, read
// CHECK: %{{.*}}:8 = scf.for
// CHECK-NOT: memref.prefetch %{{.*}}, read
// CHECK: } else {
// CHECK: memref.prefetch %{{.*}}, write
// CHECK: %[[NUMBER:.*]] = arith.divui %{{.*}}, %c8
// CHECK: %[[PART:.*]] = arith.remui %[[NUMBER]], %c2
// CHECK: %[[OFFSET:.*]] = arith.muli %[[PART]], %{{.*}}
// CHECK: %{{.*}}:8 = scf.for %[[J:.*]] = %c0 to %c16
// CHECK: %[[ELEMENT:.*]] = arith.muli %[[J]], %c16
// CHECK: %[[AT:.*]] = arith.addi %[[OFFSET]], %[[ELEMENT]]
// CHECK: memref.prefetch %{{.*}}[%c0, %[[AT]]], read
// CHECK: vector.load %{{.*}}[%[[J]], %c0] : memref<{{.*}}>, vector<32xf32>
func.func @groups(%x: memref<?x16xf32>, %w: memref<?x16x40xf32>, %o: memref<?x40xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %g = %c0 to %n step %c1 {
    %own = memref.subview %w[%g, 0, 0] [1, 16, 40] [1, 1, 1] : memref<?x16x40xf32> to memref<16x40xf32, strided<[40, 1], offset: ?>>
    linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %own : memref<?x16xf32>, memref<16x40xf32, strided<[40, 1], offset: ?>>) outs(%o : memref<?x40xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      linalg.yield %s : f32
    }
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// Up to two rows, up to eight, and more.
// CHECK-LABEL: func.func @few
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK: %[[FEW:.*]] = arith.cmpi sle, %{{.*}}, %[[TWO]]
// CHECK: scf.if %[[FEW]]
// CHECK: %{{.*}}:2 = scf.for {{.*}} -> (vector<128xf32>, vector<128xf32>)
// CHECK: else
// CHECK: %[[SOME:.*]] = arith.cmpi sle, %{{.*}}, %[[EIGHT]]
// CHECK: scf.if %[[SOME]]
// CHECK: %{{.*}}:4 = scf.for {{.*}} -> (vector<64xf32>, vector<64xf32>, vector<64xf32>, vector<64xf32>)
// CHECK: else
// CHECK: vector<32xf32>
func.func @few(%x: memref<?x16xf32>, %w: memref<16x128xf32>, %o: memref<?x128xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x16xf32>, memref<16x128xf32>) outs(%o : memref<?x128xf32>) {
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
#w = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// A few columns have a register for themselves where the sums are long; of few terms the op stays.

// CHECK-LABEL: func.func @few_columns
// CHECK: vector.constant_mask [3] : vector<16xi1>
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<?x8xf32>, memref<8x3xf32>)
func.func @few_columns(%x: memref<?x64xf32>, %w: memref<64x3xf32>, %y: memref<?x8xf32>, %v: memref<8x3xf32>, %o: memref<?x3xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x64xf32>, memref<64x3xf32>) outs(%o : memref<?x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y, %v : memref<?x8xf32>, memref<8x3xf32>) outs(%o : memref<?x3xf32>) {
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

// A right side that is along memory in the sums is turned, square by square; for a few rows the op stays.

// CHECK-LABEL: func.func @turned
// CHECK: scf.if
// CHECK: linalg.generic
// CHECK: else
// CHECK: vector.shuffle
// CHECK: memref.prefetch {{.*}}, read
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

// A right side of a few columns is turned where the sums are short; long ones are along memory, one for each column.

// CHECK-LABEL: func.func @turned_few_columns
// CHECK: memref<?x8xf32>, memref<3x8xf32>
// CHECK: else
// CHECK: vector.shuffle
// CHECK: vector.constant_mask [3] : vector<16xi1>
// CHECK: }
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<?x64xf32>, memref<3x64xf32>)
func.func @turned_few_columns(%x: memref<?x8xf32>, %w: memref<3x8xf32>, %y: memref<?x64xf32>, %v: memref<3x64xf32>, %o: memref<?x3xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x8xf32>, memref<3x8xf32>) outs(%o : memref<?x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y, %v : memref<?x64xf32>, memref<3x64xf32>) outs(%o : memref<?x3xf32>) {
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

#x = affine_map<(k, m, n) -> (k, m)>
#w = affine_map<(k, m, n) -> (k, n)>
#o = affine_map<(k, m, n) -> (m, n)>

// So are those of another view of all of the result, before the offsets of a component are loaded.

// CHECK-LABEL: func.func @zeroed_view
// CHECK-NOT: linalg.fill
// CHECK: vector.store
// CHECK-LABEL: func.func @read_zeros
// CHECK: linalg.fill
// CHECK: memref.load
// CHECK: vector.store
func.func @zeroed_view(%x: memref<?x16xf32>, %g: memref<?x32xf32>, %starts: memref<?xindex>, %o: memref<?x16x32xf32>, %i: index) {
  %zero = arith.constant 0.0 : f32
  %one = memref.subview %o[%i, 0, 0] [1, 16, 32] [1, 1, 1] : memref<?x16x32xf32> to memref<1x16x32xf32, strided<[512, 32, 1], offset: ?>>
  linalg.fill ins(%zero : f32) outs(%one : memref<1x16x32xf32, strided<[512, 32, 1], offset: ?>>)
  %first = memref.load %starts[%i] : memref<?xindex>
  %xs = memref.subview %x[%first, 0] [7, 16] [1, 1] : memref<?x16xf32> to memref<7x16xf32, strided<[16, 1], offset: ?>>
  %gs = memref.subview %g[%first, 0] [7, 32] [1, 1] : memref<?x32xf32> to memref<7x32xf32, strided<[32, 1], offset: ?>>
  %out = memref.subview %one[0, 0, 0] [1, 16, 32] [1, 1, 1]
      : memref<1x16x32xf32, strided<[512, 32, 1], offset: ?>> to memref<16x32xf32, strided<[32, 1], offset: ?>>
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%xs, %gs : memref<7x16xf32, strided<[16, 1], offset: ?>>, memref<7x32xf32, strided<[32, 1], offset: ?>>)
      outs(%out : memref<16x32xf32, strided<[32, 1], offset: ?>>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// What loads one of the zeros needs them.
func.func @read_zeros(%x: memref<7x16xf32>, %g: memref<7x32xf32>, %o: memref<16x32xf32>, %i: index) -> f32 {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<16x32xf32>)
  %read = memref.load %o[%i, %i] : memref<16x32xf32>
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%x, %g : memref<7x16xf32>, memref<7x32xf32>) outs(%o : memref<16x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return %read : f32
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

// -----

// What a map places is not known to lie along memory.
// CHECK-LABEL: func.func @mapped
// CHECK-NOT: vector
func.func @mapped(%x: memref<?x64xf32, affine_map<(i, j) -> (j, i)>>, %w: memref<64x64xf32, affine_map<(i, j) -> (j, i)>>, %o: memref<?x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x64xf32, affine_map<(i, j) -> (j, i)>>, memref<64x64xf32, affine_map<(i, j) -> (j, i)>>) outs(%o : memref<?x64xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p fastmath<reassoc> : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// Rows of a side stay in the memory that it is in.

// CHECK-LABEL: func.func @spaces
// CHECK: memref.subview {{.*}} to memref<?x?xf32, strided<[?, 1], offset: ?>, 1>
// CHECK-NOT: linalg.generic
func.func @spaces(%x: memref<?x?xf32, 1>, %w: memref<?x?xf32, 1>, %o: memref<?x?xf32, 2>) {
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x?xf32, 1>, memref<?x?xf32, 1>) outs(%o : memref<?x?xf32, 2>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// Loops that both sides have may be behind the others in the result: elements of a row are written one by one then, from
// a row of scratch.

// CHECK-LABEL: func.func @heads
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<?x?x4xf32>)
// CHECK: %[[ROW:.*]] = memref.alloca() {{.*}} : memref<1x32xf32>
// CHECK: scf.for %[[H:.*]] = %c0 to %c4
// CHECK: vector.shuffle
// CHECK: %[[SUMS:.*]]:8 = scf.for
// CHECK: vector.store %{{.*}}, %[[ROW]]
// CHECK: scf.for %[[LANE:.*]] =
// CHECK: %[[ONE:.*]] = memref.load %[[ROW]][%c0, %[[LANE]]]
// CHECK: memref.store %[[ONE]], %[[O]][%{{.*}}, %{{.*}}, %[[H]]]
func.func @heads(%x: memref<?x4x16xf32>, %y: memref<?x4x16xf32>, %o: memref<?x?x4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, h, d) -> (i, h, d)>, affine_map<(i, j, h, d) -> (j, h, d)>, affine_map<(i, j, h, d) -> (i, j, h)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %y : memref<?x4x16xf32>, memref<?x4x16xf32>) outs(%o : memref<?x?x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}
