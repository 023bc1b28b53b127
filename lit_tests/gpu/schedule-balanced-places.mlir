// RUN: ragged-opt %s --ragged-map-parallel --convert-forall-to-gpu --canonicalize --cse | FileCheck %s

// The place of a row in its component is its number less that of the component's first row.
// CHECK-LABEL: func.func @places
// CHECK-LABEL: gpu.func @places_0(
// CHECK:           %[[WHOLE:.*]] = arith.muli %{{.*}}, %c16
// CHECK-NEXT:      %[[END:.*]] = arith.addi %[[AT:.*]], %[[WHOLE]] : index
// CHECK-NEXT:      %[[OFFSET:.*]] = memref.load %{{.*}} : memref<?xi64>
// CHECK-NEXT:      %[[FIRST:.*]] = arith.index_cast %[[OFFSET]] : i64 to index
// CHECK-NEXT:      scf.for %[[ROW:.*]] = %[[AT]] to %[[END]]
// CHECK:             %[[PLACE:.*]] = arith.subi %[[ROW]], %[[FIRST]] : index
// CHECK:             arith.index_cast %[[PLACE]] : index to i64
func.func @places(%x: memref<?xi64>, %offsets: memref<?xi64>, %y: memref<?xi64>, %n: index) {
  %c1 = arith.constant 1 : index
  scf.forall (%b) in (%n) {
    %lo = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %lo : i64 to index
    %next = arith.addi %b, %c1 : index
    %hi = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %hi : i64 to index
    %length = arith.subi %high, %low : index
    %rows = memref.subview %x[%low] [%length] [1] : memref<?xi64> to memref<?xi64, strided<[1], offset: ?>>
    %row = memref.subview %y[%b] [1] [1] : memref<?xi64> to memref<i64, strided<[], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
        ins(%rows : memref<?xi64, strided<[1], offset: ?>>) outs(%row : memref<i64, strided<[], offset: ?>>) {
    ^bb0(%e: i64, %sum: i64):
      %place = linalg.index 0 : index
      %p = arith.index_cast %place : index to i64
      %m = arith.muli %e, %p : i64
      %t = arith.addi %sum, %m : i64
      linalg.yield %t : i64
    }
  }
  return
}
