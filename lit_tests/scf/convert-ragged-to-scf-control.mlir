// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize --cse | FileCheck %s

#r = #ragged.layout<"dr">
#w = #ragged.layout<"dw">

// The branches give values and offsets.
// CHECK-LABEL: func.func @choice
// CHECK-SAME: (%[[C:.*]]: i1, %{{.*}}: tensor<?xf32>, %[[OX:.*]]: tensor<?xi64>, %[[Y:.*]]: tensor<?xf32>, %[[OY:.*]]: tensor<?xi64>)
// CHECK: %[[O:.*]] = arith.select %[[C]], %[[OX]], %[[OY]] : tensor<?xi64>
// CHECK: %[[V:.*]] = scf.if %[[C]] -> (tensor<?xf32>)
// CHECK: scf.yield %[[Y]]
// CHECK: return %[[V]], %[[O]]
func.func @choice(%c: i1, %x: tensor<?x?xf32, #r>, %y: tensor<?x?xf32, #r>) -> tensor<?x?xf32, #r> {
  %0 = scf.if %c -> (tensor<?x?xf32, #r>) {
    %s = arith.addf %x, %x : tensor<?x?xf32, #r>
    scf.yield %s : tensor<?x?xf32, #r>
  } else {
    scf.yield %y : tensor<?x?xf32, #r>
  }
  return %0 : tensor<?x?xf32, #r>
}

// What the loop does not change, the offsets, is not carried.
// CHECK-LABEL: func.func @loop
// CHECK-SAME: (%{{.*}}: index, %[[X:.*]]: tensor<?xf32>, %[[O:.*]]: tensor<?xi64>)
// CHECK: %[[V:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %[[X]]) -> (tensor<?xf32>)
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[A]], %[[A]]
// CHECK-NEXT: scf.yield %[[S]]
// CHECK: return %[[V]], %[[O]]
func.func @loop(%n: index, %x: tensor<?x?xf32, #r>) -> tensor<?x?xf32, #r> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0 = scf.for %k = %zero to %n step %one iter_args(%y = %x) -> (tensor<?x?xf32, #r>) {
    %s = arith.addf %y, %y : tensor<?x?xf32, #r>
    scf.yield %s : tensor<?x?xf32, #r>
  }
  return %0 : tensor<?x?xf32, #r>
}

// A window travels as values, starts and lengths.
// CHECK-LABEL: func.func @call
// CHECK-SAME: (%[[V:.*]]: tensor<?xf32>, %[[S:.*]]: tensor<?xi64>, %[[L:.*]]: tensor<?xi64>)
// CHECK-NEXT: %[[R:.*]]:3 = call @callee(%[[V]], %[[S]], %[[L]])
// CHECK-NEXT: return %[[R]]#0, %[[R]]#1, %[[R]]#2
func.func private @callee(%x: tensor<?x?xf32, #w>) -> tensor<?x?xf32, #w>
func.func @call(%x: tensor<?x?xf32, #w>) -> tensor<?x?xf32, #w> {
  %0 = func.call @callee(%x) : (tensor<?x?xf32, #w>) -> tensor<?x?xf32, #w>
  return %0 : tensor<?x?xf32, #w>
}

// A loop over components ends before something is written that it may read.
// CHECK-LABEL: func.func @memory
// CHECK: scf.forall
// CHECK: memref.load
// CHECK: memref.store
// CHECK: scf.forall
func.func @memory(%x: tensor<?x?xf32, #ragged.layout<"dr">>, %i: tensor<?xf32>, %m: memref<1xf32>, %k: f32) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %c0 = arith.constant 0 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32, #ragged.layout<"dr">>) outs(%i : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = memref.load %m[%c0] : memref<1xf32>
    %p = arith.mulf %a, %v : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  memref.store %k, %m[%c0] : memref<1xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %0 : tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?xf32>) outs(%x : tensor<?x?xf32, #ragged.layout<"dr">>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = memref.load %m[%c0] : memref<1xf32>
    %r = arith.mulf %b, %v : f32
    linalg.yield %r : f32
  } -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %1 : tensor<?x?xf32, #ragged.layout<"dr">>
}

// What is written for one component may be read for another one: that is another loop.
// CHECK-LABEL: func.func @written
// CHECK: scf.forall
// CHECK: memref.store
// CHECK: scf.forall
// CHECK: memref.load
func.func @written(%x: tensor<2x?xf32, #ragged.layout<"dr">>, %i: tensor<2xf32>, %m: memref<2xf32>) -> tensor<2x?xf32, #ragged.layout<"dr">> {
  %c1 = arith.constant 1 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<2x?xf32, #ragged.layout<"dr">>) outs(%i : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    %k = linalg.index 0 : index
    memref.store %s, %m[%k] : memref<2xf32>
    linalg.yield %s : f32
  } -> tensor<2xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %0 : tensor<2x?xf32, #ragged.layout<"dr">>, tensor<2xf32>) outs(%x : tensor<2x?xf32, #ragged.layout<"dr">>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %k = linalg.index 0 : index
    %n = arith.subi %c1, %k : index
    %v = memref.load %m[%n] : memref<2xf32>
    %r = arith.addf %b, %v : f32
    linalg.yield %r : f32
  } -> tensor<2x?xf32, #ragged.layout<"dr">>
  return %1 : tensor<2x?xf32, #ragged.layout<"dr">>
}
