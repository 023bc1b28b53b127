// RUN: ragged-opt --version-ragged-components %s | FileCheck %s

// A component is done by a block, or by tiles of rows when one is much longer than the others: a kernel opens the
// gate of one way. Many short ones are done by tiles whatever the data: then there are no blocks, and no gate is
// looked for. No block is long where there are few rows.

#rows = affine_map<(i, d) -> (i, d)>
#sums = affine_map<(i, d) -> (d)>
!part = memref<?x4xf32, strided<[4, 1], offset: ?>>
!row = memref<4xf32, strided<[1], offset: ?>>

// CHECK-LABEL: func.func @center
// CHECK: %[[MANY:.*]] = arith.cmpi sgt, %arg4, %c4096
// CHECK: %[[MEAN:.*]] = arith.cmpi slt
// CHECK: %[[SHORT:.*]] = arith.andi %[[MANY]], %[[MEAN]]
// CHECK: %[[OWN:.*]] = memref.alloc() {ragged.gate = 0 : i64} : memref<1xi64>
// CHECK: %[[OTHER:.*]] = memref.alloc() {ragged.gate = 1 : i64} : memref<1xi64>
// CHECK: scf.forall (%{{.*}}) in (1) {
// CHECK:   arith.maxsi
// CHECK:   } {ragged.fold = {few, kind = "maxsi"}}
// CHECK:   memref.store %{{.*}}, %[[OWN]]
// CHECK:   memref.store %{{.*}}, %[[OTHER]]
// CHECK: }
// CHECK: %[[BLOCKS:.*]] = arith.select %[[SHORT]], %c0{{.*}}, %arg4
// CHECK: scf.forall (%{{.*}}) in (%[[BLOCKS]]) {
// CHECK: "reduction"
// CHECK: arith.subf
// CHECK: } {ragged.gate = 0 : i64}
// CHECK: %[[LARGE:.*]] = arith.cmpi sgt, %{{.*}}, %c262144
// CHECK: %[[PIECES:.*]] = arith.ori %[[MANY]], %[[LARGE]]
// CHECK: scf.if %[[PIECES]]
// CHECK:   "reduction"
// CHECK:   } {ragged.gate = 1 : i64}
// CHECK:   arith.subf
// CHECK:   } {ragged.gate = 1 : i64}
// CHECK: }
// CHECK: return
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
