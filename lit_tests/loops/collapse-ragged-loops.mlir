// RUN: ragged-opt %s --collapse-ragged-loops | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>

// CHECK: #[[ONE:.*]] = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @contiguous
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32>, %[[Y:.*]]: memref<?x64xf32>
func.func @contiguous(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  // CHECK-DAG: %[[A:.*]] = memref.collapse_shape %[[X]] {{\[}}[0, 1]] : memref<?x64xf32> into memref<?xf32>
  // CHECK-DAG: %[[B:.*]] = memref.collapse_shape %[[Y]] {{\[}}[0, 1]] : memref<?x64xf32> into memref<?xf32>
  // CHECK: linalg.generic {indexing_maps = [#[[ONE]], #[[ONE]]], iterator_types = ["parallel"]} ins(%[[A]] : memref<?xf32>) outs(%[[B]] : memref<?xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x64xf32>) outs(%y : memref<?x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  }
  return
}

// A row for all rows: the loops stay.
// CHECK-LABEL: func.func @broadcast
// CHECK-NOT: collapse_shape
func.func @broadcast(%x: memref<64xf32>, %y: memref<?x64xf32>) {
  linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64xf32>) outs(%y : memref<?x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// Rows further apart than they are long: the loops stay.
// CHECK-LABEL: func.func @padded
// CHECK-NOT: collapse_shape
func.func @padded(%x: memref<?x60xf32, strided<[64, 1], offset: ?>>, %s: f32) {
  linalg.fill ins(%s : f32) outs(%x : memref<?x60xf32, strided<[64, 1], offset: ?>>)
  return
}

// The index of another loop goes on counting that.
// CHECK-LABEL: func.func @beside
// CHECK-SAME: %[[X:.*]]: memref<?x8xi64>, %[[Y:.*]]: memref<?x8x2xi64>
// CHECK-DAG: %[[A:.*]] = memref.collapse_shape %[[X]] {{\[}}[0, 1]] : memref<?x8xi64> into memref<?xi64>
// CHECK-DAG: %[[B:.*]] = memref.collapse_shape %[[Y]] {{\[}}[0, 1], [2]] : memref<?x8x2xi64> into memref<?x2xi64>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[A]] : memref<?xi64>) outs(%[[B]] : memref<?x2xi64>)
// CHECK: linalg.index 1
func.func @beside(%x: memref<?x8xi64>, %y: memref<?x8x2xi64>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : memref<?x8xi64>) outs(%y : memref<?x8x2xi64>) {
  ^bb0(%a: i64, %out: i64):
    %k = linalg.index 2 : index
    %n = arith.index_cast %k : index to i64
    %s = arith.addi %a, %n : i64
    linalg.yield %s : i64
  }
  return
}

// That of a collapsed one would be lost.
// CHECK-LABEL: func.func @counted
// CHECK-NOT: collapse_shape
func.func @counted(%y: memref<?x8xi64>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%y : memref<?x8xi64>) {
  ^bb0(%out: i64):
    %k = linalg.index 1 : index
    %n = arith.index_cast %k : index to i64
    linalg.yield %n : i64
  }
  return
}

// What a map places need not be contiguous.
// CHECK-LABEL: func.func @mapped
// CHECK-NOT: collapse_shape
func.func @mapped(%x: memref<4x8xf32, affine_map<(i, j) -> (i * 16 + j)>>, %y: memref<4x8xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x8xf32, affine_map<(i, j) -> (i * 16 + j)>>) outs(%y : memref<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %in, %in : f32
    linalg.yield %v : f32
  }
  return
}
