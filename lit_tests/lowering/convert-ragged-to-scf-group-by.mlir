// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize --cse | FileCheck %s
// RUN: ragged-opt %s --convert-ragged-to-scf="keys=64 keys-of-a-count=1" --canonicalize --cse | FileCheck %s --check-prefix=SHORT

// Parts of the keys count theirs at once; running sums, of a key over parts, say where each puts its indices.
// CHECK-LABEL: func.func @f
// CHECK-SAME: (%[[KEYS:.*]]: tensor<?xi64>, %[[COUNT:.*]]: index)
// CHECK-DAG: %[[LEAST:.*]] = arith.constant 16384 : index
// CHECK-DAG: %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK: %[[SIZE:.*]] = tensor.dim %[[KEYS]]
// CHECK: %[[EIGHTH:.*]] = arith.divui %[[SIZE]], %[[EIGHT]]
// CHECK: %[[ANY:.*]] = arith.maxsi %[[COUNT]], %{{.*}}
// CHECK: %[[FEW:.*]] = arith.divui %[[EIGHTH]], %[[ANY]]
// CHECK: %[[MANY:.*]] = arith.divui %[[SIZE]], %[[LEAST]]
// CHECK: %[[WANTED:.*]] = arith.minsi %[[MANY]], %[[FEW]]
// CHECK: %[[PARTS:.*]] = arith.maxsi %[[WANTED]], %{{.*}}
// CHECK: %[[COUNTS:.*]] = memref.alloc(%[[PARTS]], %[[COUNT]])
// CHECK: linalg.fill {{.*}} outs(%[[COUNTS]] :
// CHECK: scf.forall (%[[PART:.*]]) in (%[[PARTS]])
// CHECK: scf.for
// CHECK: %[[KEY:.*]] = tensor.extract %[[KEYS]]
// CHECK: %[[AT:.*]] = arith.index_cast %[[KEY]]
// CHECK: memref.load %[[COUNTS]][%[[PART]], %[[AT]]]
// CHECK: memref.store %{{.*}}, %[[COUNTS]][%[[PART]], %[[AT]]]
// CHECK: %[[COUNTED:.*]] = bufferization.to_tensor %[[COUNTS]]
// CHECK: %[[STARTS:.*]]:2 = scf.for {{.*}} -> (i64, tensor<?xi64>)
// CHECK: tensor.extract %[[COUNTED]]
// CHECK: ragged.fold = {kind = "scan"}
// CHECK: %[[LEFT:.*]] = memref.alloc(%[[PARTS]], %[[COUNT]])
// CHECK: %[[ORDER:.*]] = memref.alloc(%[[SIZE]])
// CHECK: linalg.generic {{.*}} outs(%[[LEFT]] :
// CHECK: tensor.extract %[[STARTS]]#1
// CHECK: scf.forall (%[[PART:.*]]) in (%[[PARTS]])
// CHECK: %[[PLACE:.*]] = memref.load %[[LEFT]][%[[PART]],
// CHECK: %[[INDEX:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK: %[[TO:.*]] = arith.index_cast %[[PLACE]] : i64 to index
// CHECK: memref.store %[[INDEX]], %[[ORDER]][%[[TO]]]
// CHECK: memref.store %{{.*}}, %[[LEFT]][%[[PART]],
// CHECK: %[[OFFSETS:.*]] = linalg.generic
// CHECK: tensor.extract %[[STARTS]]#1
// CHECK: %[[PLACES:.*]] = bufferization.to_tensor %[[ORDER]]
// CHECK: return %[[PLACES]], %[[OFFSETS]]

// SHORT-LABEL: func.func @f
// SHORT: %[[LEAST:.*]] = arith.constant 64 : index
// SHORT: %[[SIZE:.*]] = tensor.dim
// SHORT: arith.divui %[[SIZE]], %[[LEAST]]
func.func @f(%keys: tensor<?xi64>, %count: index) -> tensor<?x?xi64, #ragged.layout<"dr">> {
  %0 = ragged.group_by %keys, %count : (tensor<?xi64>, index) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return %0 : tensor<?x?xi64, #ragged.layout<"dr">>
}
