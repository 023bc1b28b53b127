// RUN: ragged-opt %s --add-negated-terms --canonicalize | FileCheck %s

#rows = affine_map<(d0, d1) -> (d0, d1)>
#sums = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @subtracted
// CHECK: %[[ONE:.*]] = arith.constant -1.0{{.*}} : f32
// CHECK: ^bb0(%[[X:.*]]: f32, %[[ACC:.*]]: f32):
// CHECK: %[[N:.*]] = arith.mulf %[[X]], %[[ONE]] : f32
// CHECK: %[[S:.*]] = arith.addf %[[ACC]], %[[N]] : f32
// CHECK: linalg.yield %[[S]] : f32
func.func @subtracted(%x: tensor<?x?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [#rows, #sums], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.subf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// One of two results; integers stay, and so does what is subtracted from.
// CHECK-LABEL: func.func @others
// CHECK: ^bb0(%[[X:.*]]: f32, %[[I:.*]]: i32, %[[A:.*]]: f32, %[[B:.*]]: i32, %[[C:.*]]: f32):
// CHECK-DAG: arith.addf %[[A]],
// CHECK-DAG: arith.subi %[[B]], %[[I]] : i32
// CHECK-DAG: arith.subf %[[X]], %[[C]] : f32
func.func @others(%x: tensor<?x?xf32>, %i: tensor<?x?xi32>, %a: tensor<?xf32>, %b: tensor<?xi32>, %c: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xi32>, tensor<?xf32>) {
  %0:3 = linalg.generic {indexing_maps = [#rows, #rows, #sums, #sums, #sums], iterator_types = ["parallel", "reduction"]} ins(%x, %i : tensor<?x?xf32>, tensor<?x?xi32>) outs(%a, %b, %c : tensor<?xf32>, tensor<?xi32>, tensor<?xf32>) {
  ^bb0(%u: f32, %n: i32, %p: f32, %q: i32, %r: f32):
    %s = arith.subf %p, %u : f32
    %t = arith.subi %q, %n : i32
    %v = arith.subf %u, %r : f32
    linalg.yield %s, %t, %v : f32, i32, f32
  } -> (tensor<?xf32>, tensor<?xi32>, tensor<?xf32>)
  return %0#0, %0#1, %0#2 : tensor<?xf32>, tensor<?xi32>, tensor<?xf32>
}

// A difference of elements is one.
// CHECK-LABEL: func.func @elements
// CHECK: arith.subf
func.func @elements(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.subf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
