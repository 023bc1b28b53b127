// RUN: ragged-opt %s --split-input-file --ragged-differentiate | FileCheck %s

#jagged = #ragged.layout<"dr">

// The rule of an op and its transpose; the function itself stays.
// CHECK-LABEL: func.func @product(
// CHECK-LABEL: func.func @product_vjp(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[C:[a-z0-9]*]]: tensor<3x?xf32
// CHECK: ragged.assert_conform %[[Y:.*]], %[[C]] {lhs = array<i64: 0, 1>
// CHECK: %[[D:.*]] = arith.mulf %[[C]], %[[E:.*]] :
// CHECK: %[[A:.*]] = arith.mulf %[[C]], %[[X]] :
// CHECK: %[[B:.*]] = arith.mulf %[[A]], %[[E]] :
// CHECK: arith.addf %[[D]], %[[B]]
// CHECK: return
func.func @product(%x: tensor<3x?xf32, #jagged>) -> tensor<3x?xf32, #jagged> {
  %e = math.exp %x : tensor<3x?xf32, #jagged>
  %y = arith.mulf %e, %x : tensor<3x?xf32, #jagged>
  return %y : tensor<3x?xf32, #jagged>
}

// -----

#jagged = #ragged.layout<"dr">

// A sum is transposed by a broadcast, and gives its cotangent to what it starts from.
// CHECK-LABEL: func.func @sum_vjp(
// CHECK-SAME: %[[X:[a-z0-9]*]]: {{.*}}, %[[I:[a-z0-9]*]]: tensor<3xf32>, %[[C:[a-z0-9]*]]: tensor<3xf32>)
// CHECK: %[[E:.*]] = ragged.empty %[[X]]
// CHECK: %[[G:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[C]] : tensor<3xf32>) outs(%[[E]]
// CHECK-NEXT: ^bb0(%[[IN:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: linalg.yield %[[IN]]
// CHECK: return %[[G]], %[[C]]
func.func @sum(%x: tensor<3x?xf32, #jagged>, %i: tensor<3xf32>) -> tensor<3xf32> {
  %s = linalg.reduce { arith.addf } ins(%x : tensor<3x?xf32, #jagged>) outs(%i : tensor<3xf32>) dimensions = [1]
  return %s : tensor<3xf32>
}

// -----

#jagged = #ragged.layout<"dr">

// A broadcast is transposed by a sum.
// CHECK-LABEL: func.func @broadcast_vjp(
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[C:.*]] : tensor<3x?xf32
// CHECK-NEXT: ^bb0(%[[IN:.*]]: f32, %[[OUT:.*]]: f32):
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[OUT]], %[[IN]]
// CHECK-NEXT: linalg.yield %[[S]]
func.func @broadcast(%x: tensor<3xf32>, %like: tensor<3x?xi32, #jagged>) -> tensor<3x?xf32, #jagged> {
  %e = ragged.empty %like : (tensor<3x?xi32, #jagged>) -> tensor<3x?xf32, #jagged>
  %y = linalg.broadcast ins(%x : tensor<3xf32>) outs(%e : tensor<3x?xf32, #jagged>) dimensions = [1]
  return %y : tensor<3x?xf32, #jagged>
}

// -----

#jagged = #ragged.layout<"dr">

// Of a max: the place of the first largest element, by a loop of its own; it alone says which gradient is not 0.
// CHECK-LABEL: func.func @max_vjp(
// CHECK: %[[M:.*]] = linalg.reduce { arith.maximumf }
// CHECK: %[[P:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]}
// CHECK: arith.minsi
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[P]], %{{.*}} :
// CHECK: arith.cmpi eq
// CHECK: arith.select
func.func @max(%x: tensor<3x?xf32, #jagged>) -> tensor<3xf32> {
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<3xf32>
  %i = linalg.fill ins(%low : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %s = linalg.reduce { arith.maximumf } ins(%x : tensor<3x?xf32, #jagged>) outs(%i : tensor<3xf32>) dimensions = [1]
  return %s : tensor<3xf32>
}

// -----

// A gather is transposed by adding to places.
// CHECK-LABEL: func.func @gather_vjp(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<?xf32>, %[[AT:[a-z0-9]*]]: tensor<?xi64>, %[[C:[a-z0-9]*]]: tensor<?xf32>)
// CHECK: ragged.scatter_add %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?xf32>, tensor<?xi64>, index) -> tensor<?xf32>
func.func @gather(%x: tensor<?xf32>, %at: tensor<?xi64>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %at, %c0 : tensor<?xi64>
  %e = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%at : tensor<?xi64>) outs(%e : tensor<?xf32>) {
  ^bb0(%in: i64, %out: f32):
    %k = arith.index_cast %in : i64 to index
    %v = tensor.extract %x[%k] : tensor<?xf32>
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// Rows of a table are added as rows.
// CHECK-LABEL: func.func @rows_vjp(
// CHECK-SAME: %[[TABLE:[a-z0-9]*]]: tensor<?x4xf32>, %[[IDS:[a-z0-9]*]]: tensor<3x?xi64, #ragged.layout<"dr">>, %[[C:[a-z0-9]*]]: tensor<3x?x4xf32, #ragged.layout<"dr|d">>)
// CHECK: ragged.scatter_add %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x4xf32>, tensor<?xi64>, index) -> tensor<?x4xf32>
!ids = tensor<3x?xi64, #ragged.layout<"dr">>
!rows = tensor<3x?x4xf32, #ragged.layout<"dr|d">>
func.func @rows(%table: tensor<?x4xf32>, %ids: !ids) -> !rows {
  %e = ragged.empty %ids {from = [[0, 0], [0, 1], -1]} : (!ids) -> !rows
  %y = linalg.generic {indexing_maps = [affine_map<(b, i, f) -> (b, i)>, affine_map<(b, i, f) -> (b, i, f)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%ids : !ids) outs(%e : !rows) {
  ^bb0(%in: i64, %out: f32):
    %k = arith.index_cast %in : i64 to index
    %f = linalg.index 2 : index
    %v = tensor.extract %table[%k, %f] : tensor<?x4xf32>
    linalg.yield %v : f32
  } -> !rows
  return %y : !rows
}

// -----

// The cotangents of attention are ops, which compute the softmax again from the saved sums; windows become tensors.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!w = tensor<3x?x2x4xf32, #ragged.layout<"dw|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
// CHECK-LABEL: func.func @attention_vjp(
// CHECK: %[[R:.*]]:2 = ragged.attention %[[Q:.*]], %[[K:.*]], %[[K]]
// CHECK-DAG: ragged.compact %[[K]]
// CHECK-DAG: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "reduction"]{{.*}} ins(%[[R]]#0, %[[C:.*]] :
// CHECK-NOT: linalg.softmax
// CHECK-NOT: ragged.attention_jvp
// CHECK-DAG: ragged.attention_vjp_kv %{{.*}}, %{{.*}}, %[[Q]], %[[R]]#1, %{{.*}}, %{{.*}} {keys = "causal"
// CHECK-DAG: ragged.attention_vjp_q %[[Q]], %{{.*}}, %{{.*}}, %[[R]]#1, %{{.*}}, %{{.*}} {keys = "causal"
func.func @attention(%q: !q, %k: !w) -> !q {
  %o, %lse = ragged.attention %q, %k, %k {scale = 1.0, keys = "causal"} : (!q, !w, !w) -> (!q, !l)
  return %o : !q
}

// -----

// Vectors are numbers beside each other.
// CHECK-LABEL: func.func @vectors_vjp(
// CHECK: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : vector<4xf16>
// CHECK: arith.subf %[[ONE]]
// CHECK: arith.extf %{{.*}} : vector<4xf16> to vector<4xf32>
func.func @vectors(%x: vector<4xf32>) -> vector<4xf16> {
  %0 = arith.truncf %x : vector<4xf32> to vector<4xf16>
  %1 = math.tanh %0 : vector<4xf16>
  return %1 : vector<4xf16>
}

// -----

// What is in memory and does not depend on arguments is a number like others, and what is written there a result of
// nothing.
// CHECK-LABEL: func.func @table_vjp(
// CHECK: arith.mulf
func.func @table(%x: f32, %m: memref<4xf32>, %i: index) -> f32 {
  %v = memref.load %m[%i] : memref<4xf32>
  %y = arith.mulf %x, %v : f32
  return %y : f32
}
