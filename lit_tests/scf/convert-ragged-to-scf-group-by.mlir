// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize --cse | FileCheck %s
// RUN: ragged-opt %s --convert-ragged-to-scf="keys=64 keys-of-a-count=1 counts=1024" --canonicalize --cse | FileCheck %s --check-prefix=DIGITS

// Parts of the keys count theirs at once; running sums, of a key over parts, say where each puts its indices.
// CHECK-LABEL: func.func @f
// CHECK-SAME: (%[[KEYS:.*]]: tensor<?xi64>, %[[COUNT:.*]]: index)
// CHECK-DAG: %[[LEAST:.*]] = arith.constant 16384 : index
// CHECK-DAG: %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK: %[[SIZE:.*]] = tensor.dim %[[KEYS]]
// CHECK: %[[ORDER:.*]] = memref.alloc(%[[SIZE]])
// CHECK: %[[OFFSETS:.*]] = memref.alloc
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
// CHECK: linalg.generic {{.*}} outs(%[[LEFT]] :
// CHECK: tensor.extract %[[STARTS]]#1
// CHECK: scf.forall (%[[PART:.*]]) in (%[[PARTS]])
// CHECK: %[[PLACE:.*]] = memref.load %[[LEFT]][%[[PART]],
// CHECK: %[[TO:.*]] = arith.index_cast %[[PLACE]] : i64 to index
// CHECK: %[[INDEX:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK: memref.store %[[INDEX]], %[[ORDER]][%[[TO]]]
// CHECK: memref.store %{{.*}}, %[[LEFT]][%[[PART]],
// CHECK: linalg.generic {{.*}} outs(%[[OFFSETS]] :
// CHECK: tensor.extract %[[STARTS]]#1
// CHECK-DAG: %[[ENDS:.*]] = bufferization.to_tensor %[[OFFSETS]]
// CHECK-DAG: %[[PLACES:.*]] = bufferization.to_tensor %[[ORDER]]
// CHECK: return %[[PLACES]], %[[ENDS]]

// Many keys: by the low half of their bits, and of what that made by the high one; where a key starts is searched for.
// DIGITS-LABEL: func.func @f
// DIGITS: arith.constant 1024 : index
// DIGITS: %[[ONCE:.*]] = arith.cmpi sle, %{{.*}}, %{{.*}} : index
// DIGITS: scf.if %[[ONCE]] {
// DIGITS: } else {
// DIGITS: math.ctlz
// DIGITS: %[[RADIX:.*]] = arith.shli %{{.*}}, %[[HALF:.*]] : index
// DIGITS: %[[FIRST:.*]] = memref.alloc
// DIGITS: arith.andi
// DIGITS: memref.store %{{.*}}, %[[FIRST]]
// DIGITS: memref.load %[[FIRST]]
// DIGITS: arith.shrui %{{.*}}, %{{.*}} : i64
// DIGITS: arith.index_cast %{{.*}} : i64 to index
// DIGITS: scf.while
func.func @f(%keys: tensor<?xi64>, %count: index) -> tensor<?x?xi64, #ragged.layout<"dr">> {
  %0 = ragged.group_by %keys, %count : (tensor<?xi64>, index) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return %0 : tensor<?x?xi64, #ragged.layout<"dr">>
}

// Numbers are stored where their keys belong.
// CHECK-LABEL: func.func @numbers
// CHECK-SAME: (%[[KEYS:.*]]: tensor<?xi64>, %[[COUNT:.*]]: index, %[[NUMBERS:.*]]: tensor<?xi64>)
// CHECK: %[[ORDER:.*]] = memref.alloc
// CHECK: scf.forall
// CHECK: scf.forall
// CHECK: %[[PLACE:.*]] = memref.load
// CHECK: %[[TO:.*]] = arith.index_cast %[[PLACE]] : i64 to index
// CHECK: %[[NUMBER:.*]] = tensor.extract %[[NUMBERS]]
// CHECK: memref.store %[[NUMBER]], %[[ORDER]][%[[TO]]]
func.func @numbers(%keys: tensor<?xi64>, %count: index, %numbers: tensor<?xi64>) -> tensor<?x?xi64, #ragged.layout<"dr">> {
  %0 = ragged.group_by %keys, %count, %numbers : (tensor<?xi64>, index, tensor<?xi64>) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return %0 : tensor<?x?xi64, #ragged.layout<"dr">>
}
