// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize --cse | FileCheck %s

// One term after the other.
// CHECK-LABEL: func.func @f
// CHECK-SAME: (%[[TERMS:.*]]: tensor<?x2xf32>, %[[POSITIONS:.*]]: tensor<?xi64>, %[[COUNT:.*]]: index)
// CHECK: %[[SUMS:.*]] = memref.alloc(%[[COUNT]])
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
