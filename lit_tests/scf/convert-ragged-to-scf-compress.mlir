// RUN: ragged-opt %s '--convert-ragged-to-scf=isa=avx512' | FileCheck %s
// RUN: ragged-opt %s --convert-ragged-to-scf=isa=avx2 | FileCheck %s --check-prefix=PLACES
// RUN: ragged-opt %s --convert-ragged-to-scf=tile=0 | FileCheck %s --check-prefix=RUNS

// Tiles of 1,024 elements are counted; each puts what it keeps behind that of those before it, by a branch of which
// vectors make lanes, or without one.
// CHECK-LABEL: func.func @values
// CHECK: scf.forall
// CHECK: arith.extui %{{.*}} : i1 to i64
// CHECK: ragged.fold = {kind = "scan"}
// CHECK: scf.forall
// CHECK: scf.for {{.*}} iter_args(%[[PLACE:.*]] = %{{.*}}) -> (index)
// CHECK: %[[KEPT:.*]] = tensor.extract %arg0
// CHECK: %[[VALUE:.*]] = tensor.extract %arg1
// CHECK: scf.if %[[KEPT]]
// CHECK-NEXT: memref.store %[[VALUE]], %{{.*}}[%[[PLACE]]]
// CHECK: %[[ONE:.*]] = arith.index_castui %[[KEPT]] : i1 to index
// CHECK: %[[NEXT:.*]] = arith.addi %[[PLACE]], %[[ONE]]
// CHECK: scf.yield %[[NEXT]]

// PLACES-LABEL: func.func @values
// PLACES: scf.while
// PLACES: arith.cmpi
// PLACES-NOT: scf.if
// PLACES: memref.store
// PLACES: arith.index_castui
// PLACES: return

// Running sums of the mask, and a run for each row.
// RUNS-LABEL: func.func @values
// RUNS: ragged.fold = {kind = "scan"}
// RUNS: scf.forall {{.*}} -> (tensor<?xi64>)
// RUNS: linalg.fill
// RUNS: linalg.generic
// RUNS: tensor.extract %arg1
func.func @values(%mask: tensor<?xi1>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = ragged.compress %mask, %x : (tensor<?xi1>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// Rows are taken by their numbers.
// CHECK-LABEL: func.func @rows
// CHECK: memref.store %{{.*}} : memref<?xi64>
// CHECK: linalg.generic
// CHECK: tensor.extract %arg1[%{{.*}}, %{{.*}}] : tensor<?x8xf32>
func.func @rows(%mask: tensor<?xi1>, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = ragged.compress %mask, %x : (tensor<?xi1>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}
