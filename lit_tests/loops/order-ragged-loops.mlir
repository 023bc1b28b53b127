// RUN: ragged-opt %s --order-ragged-loops | FileCheck %s

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// CHECK-DAG: #[[MK:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[KN:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[MN:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>

// CHECK-LABEL: func.func @matmul
// CHECK: linalg.generic {indexing_maps = [#[[MK]], #[[KN]], #[[MN]]], iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : f32
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc,contract> : f32
func.func @matmul(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

// The difference of the accumulator is no sum of independent terms: its flags stay as they are.
// CHECK-LABEL: func.func @alternating
// CHECK: arith.subf %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : f32
func.func @alternating(%a: memref<?xf32>, %c: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%a : memref<?xf32>) outs(%c : memref<f32>) {
  ^bb0(%x: f32, %acc: f32):
    %s = arith.subf %x, %acc : f32
    linalg.yield %s : f32
  }
  return
}

// Two results per row do not outweigh the rows themselves: the loop along them stays innermost.
// CHECK-LABEL: func.func @rows
// CHECK: iterator_types = ["parallel", "reduction"]
func.func @rows(%a: memref<?x64xf32>, %c: memref<?xf32>, %d: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<?x64xf32>) outs(%c, %d : memref<?xf32>, memref<?xf32>) {
  ^bb0(%x: f32, %sum: f32, %top: f32):
    %s = arith.addf %sum, %x : f32
    %t = arith.maximumf %top, %x : f32
    linalg.yield %s, %t : f32, f32
  }
  return
}

// The sums before each row: what is yielded for them is no op's.
// CHECK-LABEL: func.func @before
// CHECK: arith.addf %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : f32
func.func @before(%a: memref<?x4xf32>, %c: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      outs(%a, %c : memref<?x4xf32>, memref<4xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %acc, %s : f32, f32
  }
  return
}

// Rows that the body takes of a table go along memory too: two numbers for each do not make the features the outer loop.
// CHECK-LABEL: func.func @weighted
// CHECK: iterator_types = ["reduction", "parallel"]
// CHECK: linalg.index 1
func.func @weighted(%ids: memref<?xindex>, %w: memref<?xf32>, %table: memref<?x64xf32>, %c: memref<64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d, i) -> (i)>, affine_map<(d, i) -> (i)>, affine_map<(d, i) -> (d)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%ids, %w : memref<?xindex>, memref<?xf32>) outs(%c : memref<64xf32>) {
  ^bb0(%row: index, %x: f32, %acc: f32):
    %d = linalg.index 0 : index
    %t = memref.load %table[%row, %d] : memref<?x64xf32>
    %m = arith.mulf %t, %x : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

// A sum that is used in every iteration may be grouped otherwise, too.
// CHECK-LABEL: func.func @running
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc> : f32
func.func @running(%a: memref<?xf32>, %c: memref<f32>, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["reduction"]}
      ins(%a : memref<?xf32>) outs(%c, %y : memref<f32>, memref<?xf32>) {
  ^bb0(%x: f32, %acc: f32, %out: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s, %s : f32, f32
  }
  return
}

// Products that are used in every iteration are not.
// CHECK-LABEL: func.func @running_product
// CHECK: arith.mulf %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : f32
func.func @running_product(%a: memref<?xf32>, %c: memref<f32>, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["reduction"]}
      ins(%a : memref<?xf32>) outs(%c, %y : memref<f32>, memref<?xf32>) {
  ^bb0(%x: f32, %acc: f32, %out: f32):
    %s = arith.mulf %acc, %x : f32
    linalg.yield %s, %s : f32, f32
  }
  return
}
