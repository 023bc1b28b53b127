// RUN: ragged-opt %s --split-input-file --ragged-compute-once --ragged-canonicalize | FileCheck %s

#per = affine_map<(b, i, n, k) -> (b, n)>
#weights = affine_map<(b, i, n, k) -> (k, n)>
#rows = affine_map<(b, i, n, k) -> (b, i, k)>

// The gradient of a product whose rows are summed is the same for all rows of a component.
// CHECK-DAG: #[[G:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[O:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @pooled(
// CHECK-SAME: %[[LIKE:.*]]: tensor<?x?x64xf32, #ragged.layout<"dr|d">>, %[[GRADIENT:.*]]: tensor<?x32xf32>, %[[WEIGHTS:.*]]: tensor<64x32xf32>)
// CHECK: %[[ZEROS:.*]] = linalg.fill {{.*}} -> tensor<?x64xf32>
// CHECK: %[[ONCE:.*]] = linalg.generic {indexing_maps = [#[[G]], #[[W]], #[[O]]], iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK-SAME: ins(%[[GRADIENT]], %[[WEIGHTS]] : tensor<?x32xf32>, tensor<64x32xf32>) outs(%[[ZEROS]] : tensor<?x64xf32>)
// CHECK: %[[AGAIN:.*]] = linalg.generic {indexing_maps = [#[[O]], #[[ROWS]]], iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[ONCE]] : tensor<?x64xf32>)
// CHECK-NEXT: ^bb0(%[[IN:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: linalg.yield %[[IN]]
// CHECK: return %[[AGAIN]]
func.func @pooled(%x: tensor<?x?x64xf32, #ragged.layout<"dr|d">>, %g: tensor<?x32xf32>, %w: tensor<64x32xf32>)
    -> tensor<?x?x64xf32, #ragged.layout<"dr|d">> {
  %zero = arith.constant 0.0 : f32
  %e = ragged.empty %x : (tensor<?x?x64xf32, #ragged.layout<"dr|d">>) -> tensor<?x?x64xf32, #ragged.layout<"dr|d">>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x64xf32, #ragged.layout<"dr|d">>) -> tensor<?x?x64xf32, #ragged.layout<"dr|d">>
  %0 = linalg.generic {indexing_maps = [#per, #weights, #rows], iterator_types = ["parallel", "parallel", "reduction", "parallel"]}
      ins(%g, %w : tensor<?x32xf32>, tensor<64x32xf32>) outs(%f : tensor<?x?x64xf32, #ragged.layout<"dr|d">>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x?x64xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<?x?x64xf32, #ragged.layout<"dr|d">>
}

// -----

#of_lists = affine_map<(a, b, i, j) -> (a, b, j)>
#numbers = affine_map<(a, b, i, j) -> (a, b, i)>

// Inner lists keep the structure around them.
// CHECK-LABEL: func.func @of_lists(
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}} : tensor<?x?x4xf32, #ragged.layout<"dr|d">>) outs(%{{.*}} : tensor<?x?xf32, #ragged.layout<"dr">>)
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel"]} ins(%{{.*}} : tensor<?x?xf32, #ragged.layout<"dr">>) outs(%{{.*}} : tensor<?x?x?xf32, #ragged.layout<"drr">>)
func.func @of_lists(%x: tensor<?x?x?xf32, #ragged.layout<"drr">>, %g: tensor<?x?x4xf32, #ragged.layout<"dr|d">>)
    -> tensor<?x?x?xf32, #ragged.layout<"drr">> {
  %zero = arith.constant 0.0 : f32
  %e = ragged.empty %x : (tensor<?x?x?xf32, #ragged.layout<"drr">>) -> tensor<?x?x?xf32, #ragged.layout<"drr">>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x?xf32, #ragged.layout<"drr">>) -> tensor<?x?x?xf32, #ragged.layout<"drr">>
  %0 = linalg.generic {indexing_maps = [#of_lists, #numbers], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%g : tensor<?x?x4xf32, #ragged.layout<"dr|d">>) outs(%f : tensor<?x?x?xf32, #ragged.layout<"drr">>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<?x?x?xf32, #ragged.layout<"drr">>
  return %0 : tensor<?x?x?xf32, #ragged.layout<"drr">>
}

// -----

#vector = affine_map<(b, i, j) -> (j)>
#all = affine_map<(b, i, j) -> (b, i)>

// A body that asks for its place computes something else for each; a result that starts as others were stays, too.
// CHECK-LABEL: func.func @stay(
// CHECK-COUNT-2: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-NOT: linalg.generic
func.func @stay(%x: tensor<?x?xf32, #ragged.layout<"dr">>, %v: tensor<4xf32>)
    -> (tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x?xf32, #ragged.layout<"dr">>) {
  %zero = arith.constant 0.0 : f32
  %e = ragged.empty %x : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %0 = linalg.generic {indexing_maps = [#vector, #all], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v : tensor<4xf32>) outs(%f : tensor<?x?xf32, #ragged.layout<"dr">>) {
  ^bb0(%a: f32, %c: f32):
    %b = linalg.index 0 : index
    %i = linalg.index 1 : index
    %at = arith.addi %b, %i : index
    %k = arith.index_cast %at : index to i64
    %n = arith.sitofp %k : i64 to f32
    %p = arith.mulf %a, %n : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32, #ragged.layout<"dr">>
  %1 = linalg.generic {indexing_maps = [#vector, #all], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v : tensor<4xf32>) outs(%x : tensor<?x?xf32, #ragged.layout<"dr">>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %0, %1 : tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x?xf32, #ragged.layout<"dr">>
}
