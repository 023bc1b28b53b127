// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize --cse | FileCheck %s

// How often each key occurs, where each component ends, and every index to the place that is left first in its own.
// CHECK-LABEL: func.func @f
// CHECK-SAME: (%[[KEYS:.*]]: tensor<?xi64>, %[[COUNT:.*]]: index)
// CHECK: %[[LENGTHS:.*]] = scf.for %[[I:.*]] = %{{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (tensor<?xi64>)
// CHECK: %[[KEY:.*]] = tensor.extract %[[KEYS]][%[[I]]]
// CHECK: %[[AT:.*]] = arith.index_cast %[[KEY]]
// CHECK: tensor.extract %[[SO_FAR]][%[[AT]]]
// CHECK: tensor.insert %{{.*}} into %[[SO_FAR]][%[[AT]]]
// CHECK: %[[OFFSETS:.*]]:2 = scf.for {{.*}} -> (i64, tensor<?xi64>)
// CHECK: ragged.fold = {kind = "scan"}
// CHECK: %[[ORDER:.*]]:2 = scf.for %[[J:.*]] = %{{.*}} iter_args(%[[PLACES:.*]] = %{{.*}}, %[[LEFT:.*]] = %[[LENGTHS]])
// CHECK: %[[END:.*]] = tensor.extract %[[OFFSETS]]#1
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[J]] : index to i64
// CHECK: tensor.insert %[[INDEX]] into %[[PLACES]]
// CHECK: tensor.insert %{{.*}} into %[[LEFT]]
// CHECK: return %[[ORDER]]#0, %[[OFFSETS]]#1
func.func @f(%keys: tensor<?xi64>, %count: index) -> tensor<?x?xi64, #ragged.layout<"dr">> {
  %0 = ragged.group_by %keys, %count : (tensor<?xi64>, index) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return %0 : tensor<?x?xi64, #ragged.layout<"dr">>
}
