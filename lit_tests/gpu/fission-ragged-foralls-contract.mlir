// RUN: ragged-opt --fission-ragged-foralls=schedule=contract %s | FileCheck %s

#left = affine_map<(i, n, k) -> (i, k)>
#right = affine_map<(i, n, k) -> (k, n)>
#out = affine_map<(i, n, k) -> (i, n)>
#rows = affine_map<(i, k) -> (i, k)>
!part = memref<?x16xf32, strided<[16, 1], offset: ?>>

// What comes before a product has a forall of its own, which has nothing for the schedule.
// CHECK-LABEL: func.func @product_of_squares
// CHECK: scf.forall
// CHECK:   arith.mulf
// CHECK-NOT: arith.addf
// CHECK: scf.forall
// CHECK:   arith.mulf
// CHECK-NEXT: arith.addf
// CHECK-NOT: scf.forall
func.func @product_of_squares(%x: memref<?x16xf32>, %w: memref<16x16xf32>, %offsets: memref<?xi64>, %y: memref<?x16xf32>,
                              %z: memref<?x16xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  scf.forall (%b) in (%n) {
    %lo = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %lo : i64 to index
    %next = arith.addi %b, %c1 : index
    %hi = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %hi : i64 to index
    %size = arith.subi %high, %low : index
    %xs = memref.subview %x[%low, 0] [%size, 16] [1, 1] : memref<?x16xf32> to !part
    %ys = memref.subview %y[%low, 0] [%size, 16] [1, 1] : memref<?x16xf32> to !part
    %zs = memref.subview %z[%low, 0] [%size, 16] [1, 1] : memref<?x16xf32> to !part
    linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%xs : !part) outs(%ys : !part) {
    ^bb0(%a: f32, %o: f32):
      %t = arith.mulf %a, %a : f32
      linalg.yield %t : f32
    }
    linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%ys, %w : !part, memref<16x16xf32>) outs(%zs : !part) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %t = arith.mulf %a, %c : f32
      %s = arith.addf %o, %t : f32
      linalg.yield %s : f32
    }
  }
  return
}

// Without a product nothing is split.
// CHECK-LABEL: func.func @nothing_to_multiply
// CHECK: scf.forall
// CHECK-NOT: scf.forall
func.func @nothing_to_multiply(%x: memref<?x16xf32>, %y: memref<?x16xf32>, %n: index) {
  scf.forall (%b) in (%n) {
    %xs = memref.subview %x[%b, 0] [1, 16] [1, 1] : memref<?x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    %ys = memref.subview %y[%b, 0] [1, 16] [1, 1] : memref<?x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
        ins(%xs : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%ys : memref<1x16xf32, strided<[16, 1], offset: ?>>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
        ins(%xs : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%ys : memref<1x16xf32, strided<[16, 1], offset: ?>>) {
    ^bb0(%a: f32, %o: f32):
      %t = arith.addf %a, %o : f32
      linalg.yield %t : f32
    }
  }
  return
}

// A number that the body loads is not the same once a part before has written it: the forall stays whole.
// CHECK-LABEL: func.func @number_that_is_written
// CHECK: scf.forall
// CHECK-NOT: scf.forall
func.func @number_that_is_written(%x: memref<?x16xf32>, %w: memref<16x16xf32>, %y: memref<?x16xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  scf.forall (%b) in (%n) {
    %xs = memref.subview %x[%b, 0] [1, 16] [1, 1] : memref<?x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    %ys = memref.subview %y[%b, 0] [1, 16] [1, 1] : memref<?x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    %first = memref.load %y[%b, %c0] : memref<?x16xf32>
    linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%xs, %w : memref<1x16xf32, strided<[16, 1], offset: ?>>, memref<16x16xf32>)
        outs(%ys : memref<1x16xf32, strided<[16, 1], offset: ?>>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %t = arith.mulf %a, %c : f32
      %s = arith.addf %o, %t : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [affine_map<(i, k) -> ()>, #rows], iterator_types = ["parallel", "parallel"]}
        ins(%first : f32) outs(%xs : memref<1x16xf32, strided<[16, 1], offset: ?>>) {
    ^bb0(%a: f32, %o: f32):
      %t = arith.addf %a, %o : f32
      linalg.yield %t : f32
    }
  }
  return
}

// Nor has a part what another one put into a buffer of the iteration.
// CHECK-LABEL: func.func @buffer_of_the_body
// CHECK: scf.forall
// CHECK-NOT: scf.forall
func.func @buffer_of_the_body(%x: memref<?x16xf32>, %w: memref<16x16xf32>, %y: memref<?x16xf32>, %n: index) {
  scf.forall (%b) in (%n) {
    %xs = memref.subview %x[%b, 0] [1, 16] [1, 1] : memref<?x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    %ys = memref.subview %y[%b, 0] [1, 16] [1, 1] : memref<?x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    %kept = memref.alloca() : memref<1x16xf32>
    linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
        ins(%xs : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%kept : memref<1x16xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%xs, %w : memref<1x16xf32, strided<[16, 1], offset: ?>>, memref<16x16xf32>)
        outs(%ys : memref<1x16xf32, strided<[16, 1], offset: ?>>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %t = arith.mulf %a, %c : f32
      %s = arith.addf %o, %t : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
        ins(%kept : memref<1x16xf32>) outs(%xs : memref<1x16xf32, strided<[16, 1], offset: ?>>) {
    ^bb0(%a: f32, %o: f32):
      %t = arith.mulf %a, %o : f32
      linalg.yield %t : f32
    }
  }
  return
}
