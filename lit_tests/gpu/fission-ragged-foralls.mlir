// RUN: ragged-opt --fission-ragged-foralls %s | FileCheck %s

#rows = affine_map<(i, d) -> (i, d)>
#sums = affine_map<(i, d) -> (d)>
!part = memref<?x4xf32, strided<[4, 1], offset: ?>>
!row = memref<4xf32, strided<[1], offset: ?>>

// Sums of the rows of components, and what is done with the rows then, fit the schedule one by one.
// CHECK-LABEL: func.func @center
// CHECK: scf.forall
// CHECK:   arith.addf
// CHECK-NOT: arith.subf
// CHECK: scf.forall
// CHECK-NOT: arith.addf
// CHECK:   arith.subf
// CHECK-NOT: scf.forall
func.func @center(%x: memref<?x4xf32>, %offsets: memref<?xi64>, %sums: memref<?x4xf32>, %y: memref<?x4xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%b) in (%n) {
    %lo = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %lo : i64 to index
    %next = arith.addi %b, %c1 : index
    %hi = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %hi : i64 to index
    %size = arith.subi %high, %low : index
    %xs = memref.subview %x[%low, 0] [%size, 4] [1, 1] : memref<?x4xf32> to !part
    %ys = memref.subview %y[%low, 0] [%size, 4] [1, 1] : memref<?x4xf32> to !part
    %sum = memref.subview %sums[%b, 0] [1, 4] [1, 1] : memref<?x4xf32> to !row
    linalg.generic {indexing_maps = [affine_map<(d) -> ()>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]} ins(%zero : f32) outs(%sum : !row) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#rows, #sums], iterator_types = ["reduction", "parallel"]} ins(%xs : !part) outs(%sum : !row) {
    ^bb0(%a: f32, %o: f32):
      %t = arith.addf %o, %a : f32
      linalg.yield %t : f32
    }
    linalg.generic {indexing_maps = [#rows, #sums, #rows], iterator_types = ["parallel", "parallel"]} ins(%xs, %sum : !part, !row) outs(%ys : !part) {
    ^bb0(%a: f32, %s: f32, %o: f32):
      %t = arith.subf %a, %s : f32
      linalg.yield %t : f32
    }
  }
  return
}

// A body that stores stays whole.
// CHECK-LABEL: func.func @stores
// CHECK: scf.forall
// CHECK-NOT: scf.forall
func.func @stores(%n: index, %x: memref<?xf32>, %y: memref<?xindex>) {
  scf.forall (%b) in (%n) {
    memref.store %b, %y[%b] : memref<?xindex>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%x : memref<?xf32>) {
    ^bb0(%out: f32):
      %0 = arith.addf %out, %out : f32
      linalg.yield %0 : f32
    }
  }
  return
}
