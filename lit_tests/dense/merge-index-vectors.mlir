// RUN: ragged-opt %s --split-input-file --merge-index-vectors --canonicalize --cse | FileCheck %s

#id = affine_map<(d) -> (d)>

// Starts and lengths of what is taken: each index is read once.
// CHECK-LABEL: func.func @both(
// CHECK-SAME: %[[S:.*]]: tensor<?xi64>, %[[L:.*]]: tensor<?xi64>, %[[IDS:.*]]: tensor<?xi64>)
// CHECK: %[[R:.*]]:2 = linalg.generic
// CHECK: tensor.extract %[[IDS]]
// CHECK-NOT: tensor.extract %[[IDS]]
// CHECK-DAG: tensor.extract %[[S]]
// CHECK-DAG: tensor.extract %[[L]]
// CHECK: linalg.yield %{{.*}}, %{{.*}} : i64, i64
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @both(%s: tensor<?xi64>, %l: tensor<?xi64>, %ids: tensor<?xi64>) -> (tensor<?xi64>, tensor<?xi64>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %ids, %c0 : tensor<?xi64>
  %e = tensor.empty(%n) : tensor<?xi64>
  %starts = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %id = tensor.extract %ids[%i] : tensor<?xi64>
    %at = arith.index_cast %id : i64 to index
    %v = tensor.extract %s[%at] : tensor<?xi64>
    linalg.yield %v : i64
  } -> tensor<?xi64>
  %lengths = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %id = tensor.extract %ids[%i] : tensor<?xi64>
    %at = arith.index_cast %id : i64 to index
    %v = tensor.extract %l[%at] : tensor<?xi64>
    linalg.yield %v : i64
  } -> tensor<?xi64>
  return %starts, %lengths : tensor<?xi64>, tensor<?xi64>
}

// -----

#id = affine_map<(d) -> (d)>

// Not of other sizes, and not what the later one, or something before it, is computed of.
// CHECK-LABEL: func.func @apart(
// CHECK-NOT: :2 = linalg.generic
// CHECK: return
func.func @apart(%s: tensor<?xi64>, %n: index, %m: index) -> (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, i64) {
  %c0 = arith.constant 0 : index
  %e = tensor.empty(%n) : tensor<?xi64>
  %f = tensor.empty(%m) : tensor<?xi64>
  %first = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %v = tensor.extract %s[%i] : tensor<?xi64>
    linalg.yield %v : i64
  } -> tensor<?xi64>
  %other = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%f : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %v = tensor.extract %s[%i] : tensor<?xi64>
    %w = arith.addi %v, %v : i64
    linalg.yield %w : i64
  } -> tensor<?xi64>
  %one = tensor.extract %first[%c0] : tensor<?xi64>
  %of_it = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %v = tensor.extract %s[%i] : tensor<?xi64>
    %w = arith.addi %v, %one : i64
    linalg.yield %w : i64
  } -> tensor<?xi64>
  return %first, %other, %of_it, %one : tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, i64
}

// One that is written where another was has no size of its own.
// CHECK-LABEL: func.func @over(
// CHECK-NOT: :2 = linalg.generic
// CHECK: return
func.func @over(%s: tensor<?xi64>, %old: tensor<?xi64>, %n: index) -> (tensor<?xi64>, tensor<?xi64>) {
  %e = tensor.empty(%n) : tensor<?xi64>
  %first = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %v = tensor.extract %s[%i] : tensor<?xi64>
    linalg.yield %v : i64
  } -> tensor<?xi64>
  %over = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%old : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %v = tensor.extract %s[%i] : tensor<?xi64>
    %w = arith.addi %v, %v : i64
    linalg.yield %w : i64
  } -> tensor<?xi64>
  return %first, %over : tensor<?xi64>, tensor<?xi64>
}

// What is in memory may be another number at the place of the later one.
// CHECK-LABEL: func.func @memory
// CHECK: linalg.generic
// CHECK: memref.store
// CHECK: linalg.generic
func.func @memory(%n: index, %m: memref<1xi64>, %k: i64) -> (tensor<?xi64>, tensor<?xi64>) {
  %c0 = arith.constant 0 : index
  %e = tensor.empty(%n) : tensor<?xi64>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%o: i64):
    %v = memref.load %m[%c0] : memref<1xi64>
    linalg.yield %v : i64
  } -> tensor<?xi64>
  memref.store %k, %m[%c0] : memref<1xi64>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %v = arith.index_cast %i : index to i64
    linalg.yield %v : i64
  } -> tensor<?xi64>
  return %0, %1 : tensor<?xi64>, tensor<?xi64>
}
