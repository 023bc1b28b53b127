// RUN: ragged-opt %s --ragged-drop-unit-dims --canonicalize --cse --split-input-file | FileCheck %s

// What is computed of one feature and summed up: one loop less, and no view is between the ops.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x1xf32, #ragged.layout<"dr|d">>)
// CHECK-DAG: %[[V:.*]] = ragged.values %[[X]]
// CHECK-DAG: %[[C:.*]] = tensor.collapse_shape %[[V]] {{\[\[}}0, 1]] : tensor<?x1xf32> into tensor<?xf32>
// CHECK-DAG: %[[O:.*]] = ragged.offsets %[[X]] {level = 1}
// CHECK: %[[Y:.*]] = ragged.assemble %[[C]], %[[O]] : {{.*}} -> tensor<?x?xf32, #ragged.layout<"dr">>
// CHECK: %[[E:.*]] = ragged.empty %[[Y]] {from = {{\[\[}}0, 0], [0, 1]]} : {{.*}} -> tensor<?x?xf32, #ragged.layout<"dr">>
// CHECK: %[[D:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]} ins(%[[Y]] : {{.*}} outs(%[[E]] :
// CHECK: math.exp
// CHECK-NOT: assemble
// CHECK: %[[M:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]} ins(%[[D]] :
// CHECK-NOT: assemble
// CHECK: %[[S:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[M]] :
// CHECK: %[[R:.*]] = tensor.expand_shape %[[S]] {{\[\[}}0, 1]]
// CHECK: return %[[R]]
#whole = affine_map<(i, j, k) -> (i, j, k)>
#kept = affine_map<(i, j, k) -> (i, k)>
func.func @chain(%x: tensor<?x?x1xf32, #ragged.layout<"dr|d">>) -> tensor<?x1xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %e = ragged.empty %x : (tensor<?x?x1xf32, #ragged.layout<"dr|d">>) -> tensor<?x?x1xf32, #ragged.layout<"dr|d">>
  %0 = linalg.exp ins(%x : tensor<?x?x1xf32, #ragged.layout<"dr|d">>) outs(%e : tensor<?x?x1xf32, #ragged.layout<"dr|d">>) -> tensor<?x?x1xf32, #ragged.layout<"dr|d">>
  %1 = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%0 : tensor<?x?x1xf32, #ragged.layout<"dr|d">>) outs(%e : tensor<?x?x1xf32, #ragged.layout<"dr|d">>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %a : f32
    linalg.yield %m : f32
  } -> tensor<?x?x1xf32, #ragged.layout<"dr|d">>
  %n = tensor.dim %1, %c0 : tensor<?x?x1xf32, #ragged.layout<"dr|d">>
  %out = tensor.empty(%n) : tensor<?x1xf32>
  %start = linalg.fill ins(%zero : f32) outs(%out : tensor<?x1xf32>) -> tensor<?x1xf32>
  %2 = linalg.generic {indexing_maps = [#whole, #kept], iterator_types = ["parallel", "reduction", "parallel"]}
    ins(%1 : tensor<?x?x1xf32, #ragged.layout<"dr|d">>) outs(%start : tensor<?x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  return %2 : tensor<?x1xf32>
}

// -----

// A dim that was kept is read by no loop of the features.
// CHECK-LABEL: func.func @kept_dim
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x64xf32, #ragged.layout<"dr|d">>, %[[S:.*]]: tensor<?x?x1xf32, #ragged.layout<"dr|d">>)
// CHECK: %[[T:.*]] = ragged.assemble {{.*}} -> tensor<?x?xf32, #ragged.layout<"dr">>
// CHECK: linalg.generic {indexing_maps = [#[[WHOLE:.*]], #[[ROW:.*]], #[[WHOLE]]], {{.*}} ins(%[[X]], %[[T]] :
#whole = affine_map<(i, j, k) -> (i, j, k)>
#row = affine_map<(i, j, k) -> (i, j, 0)>
func.func @kept_dim(%x: tensor<?x?x64xf32, #ragged.layout<"dr|d">>, %s: tensor<?x?x1xf32, #ragged.layout<"dr|d">>)
    -> tensor<?x?x64xf32, #ragged.layout<"dr|d">> {
  %e = ragged.empty %x : (tensor<?x?x64xf32, #ragged.layout<"dr|d">>) -> tensor<?x?x64xf32, #ragged.layout<"dr|d">>
  %0 = linalg.generic {indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%x, %s : tensor<?x?x64xf32, #ragged.layout<"dr|d">>, tensor<?x?x1xf32, #ragged.layout<"dr|d">>)
    outs(%e : tensor<?x?x64xf32, #ragged.layout<"dr|d">>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.divf %a, %b : f32
    linalg.yield %d : f32
  } -> tensor<?x?x64xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<?x?x64xf32, #ragged.layout<"dr|d">>
}

// -----

// Ops along a dim have it by another number where one before it goes.
// CHECK-LABEL: func.func @along
// CHECK: %[[A:.*]] = linalg.softmax dimension(1) ins({{.*}} tensor<?x?xf32, #ragged.layout<"dr">>)
// CHECK: ragged.scan %[[A]] {dim = 1, kind = "sum"} : (tensor<?x?xf32, #ragged.layout<"dr">>)
func.func @along(%x: tensor<1x?x?x1xf32, #ragged.layout<"d|dr|d">>) -> tensor<1x?x?x1xf32, #ragged.layout<"d|dr|d">> {
  %e = ragged.empty %x : (tensor<1x?x?x1xf32, #ragged.layout<"d|dr|d">>) -> tensor<1x?x?x1xf32, #ragged.layout<"d|dr|d">>
  %0 = linalg.softmax dimension(2) ins(%x : tensor<1x?x?x1xf32, #ragged.layout<"d|dr|d">>) outs(%e : tensor<1x?x?x1xf32, #ragged.layout<"d|dr|d">>) -> tensor<1x?x?x1xf32, #ragged.layout<"d|dr|d">>
  %1 = ragged.scan %0 {dim = 2, kind = "sum"} : (tensor<1x?x?x1xf32, #ragged.layout<"d|dr|d">>) -> tensor<1x?x?x1xf32, #ragged.layout<"d|dr|d">>
  return %1 : tensor<1x?x?x1xf32, #ragged.layout<"d|dr|d">>
}

// -----

// What a body looks up, and a loop whose index it reads, too; windows stay windows.
// CHECK-LABEL: func.func @lookup
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x1xi64, #ragged.layout<"dw|d">>, %[[TABLE:.*]]: tensor<?x1xf32>)
// CHECK: %[[T:.*]] = tensor.collapse_shape %[[TABLE]] {{\[\[}}0, 1]] : tensor<?x1xf32> into tensor<?xf32>
// CHECK: ragged.assemble {{.*}} : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x?xi64, #ragged.layout<"dw">>
// CHECK: tensor.extract %[[T]][%{{.*}}] : tensor<?xf32>
#whole = affine_map<(i, j, k) -> (i, j, k)>
func.func @lookup(%x: tensor<?x?x1xi64, #ragged.layout<"dw|d">>, %table: tensor<?x1xf32>) -> tensor<?x?x1xf32, #ragged.layout<"dw|d">> {
  %e = ragged.empty %x : (tensor<?x?x1xi64, #ragged.layout<"dw|d">>) -> tensor<?x?x1xf32, #ragged.layout<"dw|d">>
  %0 = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%x : tensor<?x?x1xi64, #ragged.layout<"dw|d">>) outs(%e : tensor<?x?x1xf32, #ragged.layout<"dw|d">>) {
  ^bb0(%a: i64, %b: f32):
    %at = arith.index_cast %a : i64 to index
    %k = linalg.index 2 : index
    %found = tensor.extract %table[%at, %k] : tensor<?x1xf32>
    linalg.yield %found : f32
  } -> tensor<?x?x1xf32, #ragged.layout<"dw|d">>
  return %0 : tensor<?x?x1xf32, #ragged.layout<"dw|d">>
}

// -----

// The index of a loop that is left out is 0, others have other numbers, and a loop that goes back is one of them.
// CHECK-LABEL: func.func @indices
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]{{.*}}ragged.backwards = 1
// CHECK-NOT: linalg.index 2
// CHECK: linalg.index 1
// CHECK-NOT: arith.addi %{{.*}}, %{{.*}} : index
// CHECK: return
func.func @indices(%x: tensor<1x?x?xi64, #ragged.layout<"d|dr">>, %start: tensor<1x?xi64>) -> tensor<1x?xi64> {
  %0 = linalg.generic {indexing_maps = [affine_map<(u, i, j) -> (u, i, j)>, affine_map<(u, i, j) -> (u, i)>], iterator_types = ["parallel", "parallel", "reduction"], ragged.backwards = 2 : i64}
    ins(%x : tensor<1x?x?xi64, #ragged.layout<"d|dr">>) outs(%start : tensor<1x?xi64>) {
  ^bb0(%a: i64, %b: i64):
    %u = linalg.index 0 : index
    %j = linalg.index 2 : index
    %k = arith.addi %u, %j : index
    %l = arith.index_cast %k : index to i64
    %m = arith.muli %b, %l : i64
    %s = arith.addi %m, %a : i64
    linalg.yield %s : i64
  } -> tensor<1x?xi64>
  return %0 : tensor<1x?xi64>
}

// -----

// A loop that reduces the dim stays, and so does a product of dense matrices.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: collapse_shape
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]
// CHECK: linalg.matmul
#whole = affine_map<(i, j, k) -> (i, j, k)>
#row = affine_map<(i, j, k) -> (i, j)>
func.func @stays(%x: tensor<?x?x1xf32, #ragged.layout<"dr|d">>, %a: tensor<?x64xf32>, %b: tensor<64x1xf32>, %c: tensor<?x1xf32>)
    -> (tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x1xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = ragged.empty %x {from = [[0, 0], [0, 1]]} : (tensor<?x?x1xf32, #ragged.layout<"dr|d">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %0 = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x : tensor<?x?x1xf32, #ragged.layout<"dr|d">>) outs(%start : tensor<?x?xf32, #ragged.layout<"dr">>) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %q, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32, #ragged.layout<"dr">>
  %1 = linalg.matmul ins(%a, %b : tensor<?x64xf32>, tensor<64x1xf32>) outs(%c : tensor<?x1xf32>) -> tensor<?x1xf32>
  return %0, %1 : tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x1xf32>
}
