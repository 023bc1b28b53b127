// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize --cse | FileCheck %s

// Where each sum has 16 terms or more in each of several parts, these are added at once, each to sums of its own, which
// are added up in order then. Else one term is added after the other.

// CHECK-LABEL: func.func @f
// CHECK-SAME: (%[[TERMS:.*]]: tensor<?x2xf32>, %[[POSITIONS:.*]]: tensor<?xi64>, %[[COUNT:.*]]: index)
// CHECK: %[[SUMS:.*]] = memref.alloc(%[[COUNT]])
// CHECK: %[[PARTS:.*]] = arith.minsi
// CHECK: %[[SEVERAL:.*]] = arith.cmpi sgt, %[[PARTS]], %c1
// CHECK: scf.if %[[SEVERAL]] {
// CHECK: %[[OWN:.*]] = memref.alloc(%[[PARTS]], %[[COUNT]]) : memref<?x?x2xf32>
// CHECK: linalg.fill {{.*}} outs(%[[SUMS]] :
// CHECK: scf.forall (%[[PART:.*]]) in (%[[PARTS]]) {
// CHECK: %[[ITS:.*]] = memref.subview %[[OWN]][%[[PART]], 0, 0]
// CHECK: linalg.fill {{.*}} outs(%[[ITS]] :
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[ITS]]
// CHECK: }
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "parallel"]} ins(%[[OWN]] : {{.*}}) outs(%[[SUMS]] :
// CHECK: } else {
// CHECK: linalg.fill {{.*}} outs(%[[SUMS]] :
// CHECK: scf.for %[[K:.*]] =
// CHECK: %[[POSITION:.*]] = tensor.extract %[[POSITIONS]][%[[K]]]
// CHECK: %[[AT:.*]] = arith.index_cast %[[POSITION]]
// CHECK: scf.for %[[D:.*]] =
// CHECK: %[[TERM:.*]] = tensor.extract %[[TERMS]][%[[K]], %[[D]]]
// CHECK: %[[SUM:.*]] = memref.load %[[SUMS]][%[[AT]], %[[D]]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[TERM]] : f32
// CHECK: memref.store %[[NEXT]], %[[SUMS]][%[[AT]], %[[D]]]
// CHECK: bufferization.to_tensor %[[SUMS]]
func.func @f(%terms: tensor<?x2xf32>, %positions: tensor<?xi64>, %count: index) -> tensor<?x2xf32> {
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?x2xf32>, tensor<?xi64>, index) -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}

// Those of unique positions are written in any order, to zeros where there are fewer than rows.

// CHECK-LABEL: func.func @unique
// CHECK-SAME: (%[[TERMS:.*]]: tensor<?xf32>, %[[POSITIONS:.*]]: tensor<?xi64>, %[[COUNT:.*]]: index)
// CHECK: %[[ROWS:.*]] = memref.alloc(%[[COUNT]]) : memref<?xf32>
// CHECK: %[[FEWER:.*]] = arith.cmpi slt, %[[SIZE:.*]], %[[COUNT]]
// CHECK: scf.if %[[FEWER]] {
// CHECK: linalg.fill {{.*}} outs(%[[ROWS]] :
// CHECK: scf.forall (%[[K:.*]]) in (%[[SIZE]]) {
// CHECK: %[[AT:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: %[[TERM:.*]] = tensor.extract %[[TERMS]][%[[K]]]
// CHECK: memref.store %[[TERM]], %[[ROWS]][%[[AT]]]
func.func @unique(%terms: tensor<?xf32>, %positions: tensor<?xi64>, %count: index) -> tensor<?xf32> {
  %0 = ragged.scatter_add %terms, %positions, %count {unique} : (tensor<?xf32>, tensor<?xi64>, index) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// Lists have sums of their own, and are added beside each other: one after the other, each as above, where that many
// terms are there for each sum.

// CHECK-LABEL: func.func @lists
// CHECK-SAME: (%{{.*}}: tensor<?xf64>, %[[OFFSETS:[a-z0-9]*]]: tensor<?xi64>,
// CHECK: %[[SUMS:.*]] = memref.alloc(%{{.*}}, %[[COUNT:.*]]) : memref<?x?xf64>
// CHECK: scf.if
// CHECK: scf.for %[[B:.*]] =
// CHECK: memref.subview %[[SUMS]][%[[B]], 0] [1, %[[COUNT]]]
// CHECK: scf.if
// CHECK: scf.forall
// CHECK: } else {
// CHECK: scf.forall (%[[C:.*]]) in
// CHECK: %[[ITS:.*]] = memref.subview %[[SUMS]][%[[C]], 0] [1, %[[COUNT]]]
// CHECK: tensor.extract %[[OFFSETS]][%[[C]]]
// CHECK: linalg.fill {{.*}} outs(%[[ITS]] :
// CHECK: scf.for
// CHECK: arith.addf
// CHECK: memref.store %{{.*}}, %[[ITS]]
func.func @lists(%terms: tensor<?x?xf64, #ragged.layout<"dr">>, %positions: tensor<?x?xi64, #ragged.layout<"dr">>, %count: index) -> tensor<?x?xf64> {
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?x?xf64, #ragged.layout<"dr">>, tensor<?x?xi64, #ragged.layout<"dr">>, index) -> tensor<?x?xf64>
  return %0 : tensor<?x?xf64>
}

// Terms that are all the same are not read.

// CHECK-LABEL: func.func @ones
// CHECK: %[[ONE:.*]] = arith.constant 1 : i64
// CHECK-NOT: linalg.fill ins(%[[ONE]]
// CHECK: arith.addi %{{.*}}, %[[ONE]] : i64
func.func @ones(%positions: tensor<9xi64>, %count: index) -> tensor<?xi64> {
  %one = arith.constant 1 : i64
  %e = tensor.empty() : tensor<9xi64>
  %ones = linalg.fill ins(%one : i64) outs(%e : tensor<9xi64>) -> tensor<9xi64>
  %0 = ragged.scatter_add %ones, %positions, %count : (tensor<9xi64>, tensor<9xi64>, index) -> tensor<?xi64>
  return %0 : tensor<?xi64>
}
