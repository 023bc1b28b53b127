// RUN: ragged-opt %s --convert-ragged-to-scf="isa=avx512" --canonicalize --cse | FileCheck %s
// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize --cse | FileCheck %s --check-prefix=SCALAR

// A segment of up to four registers is sorted there, and written with masks: elements are compared with neighbours in
// other registers, which takes no shuffles, and across lanes, and put in the order of memory at the end. Others are runs
// of four registers at first, and then of twice as many each time, merged from both ends at once.

// CHECK-LABEL: func.func @f
// CHECK-SAME: (%[[KEYS:.*]]: tensor<?xi32>, %[[OFFSETS:.*]]: tensor<?xi64>)
// CHECK: %[[FROM:.*]] = bufferization.to_buffer %[[KEYS]] read_only
// CHECK: %[[OUT:.*]] = memref.alloc(%{{.*}}) : memref<?xi32>
// CHECK: scf.forall (%[[SEGMENT:.*]]) in
// CHECK: %[[LENGTH:.*]] = arith.subi
// CHECK: %[[ROOM:.*]] = memref.alloc(%{{.*}}) : memref<?xi32>
// CHECK: %[[ONE:.*]] = arith.cmpi sle, %[[LENGTH]], %c16
// CHECK: scf.if %[[ONE]] {
// CHECK: vector.maskedload %[[FROM]]
// CHECK: %[[NEXT:.*]] = vector.shuffle %[[V:.*]], %{{.*}} [1, 0, 3, 2,
// CHECK: %[[LESS:.*]] = arith.minsi %[[V]], %[[NEXT]]
// CHECK: %[[MORE:.*]] = arith.maxsi %[[V]], %[[NEXT]]
// CHECK: vector.shuffle %[[LESS]], %[[MORE]] [0, 17, 2, 19,
// CHECK: vector.maskedstore %[[OUT]]
// CHECK: } else {
// CHECK: arith.cmpi sle, %[[LENGTH]], %c32
// CHECK: %[[A:.*]]:2 = scf.if
// CHECK: arith.minsi %[[A]]#0, %[[A]]#1
// CHECK: arith.maxsi %[[A]]#0, %[[A]]#1
// CHECK: vector.shuffle %[[B:.*]], %[[C:.*]] [0, 16, 1, 17,
// CHECK: vector.shuffle %[[B]], %[[C]] [8, 24, 9, 25,
// CHECK-COUNT-2: vector.maskedstore %[[OUT]]
// CHECK: } else {
// CHECK: arith.cmpi sle, %[[LENGTH]], %c64
// CHECK-COUNT-4: vector.maskedstore %[[OUT]]
// CHECK: } else {
// CHECK-COUNT-4: vector.store %{{.*}}, %[[ROOM]]
// CHECK: scf.while
// CHECK: scf.for
// CHECK: scf.if
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (index, index, vector<16xi32>, vector<16xi32>, index, index, vector<16xi32>, vector<16xi32>)
// CHECK: vector.shuffle %{{.*}} [15, 14, 13,
// CHECK: vector.store %{{.*}}, %[[ROOM]]
// CHECK: vector.store %{{.*}}, %[[ROOM]]
// CHECK: vector.maskedstore %[[OUT]]
// CHECK: %[[DONE:.*]] = bufferization.to_tensor %[[OUT]]
// CHECK: return %[[DONE]]

// Without vectors a register is a number, and all segments have one buffer.

// SCALAR-LABEL: func.func @f
// SCALAR: memref.alloc
// SCALAR: memref.alloc
// SCALAR: scf.forall
// SCALAR-NOT: vector
// SCALAR: -> (index, index, i32, i32, index, index, i32, i32)
// SCALAR: arith.minsi
// SCALAR: arith.maxsi
func.func @f(%keys: tensor<?xi32>, %offsets: tensor<?xi64>) -> tensor<?xi32> {
  %0 = ragged.sort %keys, %offsets : (tensor<?xi32>, tensor<?xi64>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// Pairs are compared by keys, and by numbers where these are equal.

// CHECK-LABEL: func.func @pairs
// CHECK: arith.cmpi slt, %[[A:.*]], %[[B:.*]] : vector<8xi64>
// CHECK: arith.cmpi eq, %[[A]], %[[B]] : vector<8xi64>
// CHECK: arith.cmpi sle, %[[C:.*]], %[[D:.*]] : vector<8xi64>
// CHECK: arith.select %{{.*}}, %[[A]], %[[B]]
// CHECK: arith.select %{{.*}}, %[[C]], %[[D]]
func.func @pairs(%keys: tensor<?xi64>, %offsets: tensor<?xi64>, %numbers: tensor<?xi64>) -> tensor<?xi64> {
  %0 = ragged.sort %keys, %offsets, %numbers : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  return %0 : tensor<?xi64>
}

// The first few: a block is sorted, and from then on only what is below the last one of those is kept. Without vectors
// all are in order.

// CHECK-LABEL: func.func @first
// CHECK: %[[FROM:.*]] = bufferization.to_buffer %{{.*}} read_only
// CHECK: %[[FEW:.*]] = memref.alloc() : memref<512xi32>
// CHECK: scf.for %[[BEGIN:.*]] = %c0 to %{{.*}} step %c128 iter_args(%{{.*}} = %c0, %[[LAST:.*]] = %c0_i32) -> (index, i32)
// CHECK: %[[BOUND:.*]] = vector.broadcast %[[LAST]] : i32 to vector<16xi32>
// CHECK: %[[BELOW:.*]] = arith.cmpi slt, %{{.*}}, %[[BOUND]] : vector<16xi32>
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[BELOW]]
// CHECK: scf.if %[[ANY]]
// CHECK: vector.compressstore %[[FEW]][%{{.*}}], %[[BELOW]]
// CHECK: scf.while
// CHECK: vector.maskedstore

// SCALAR-LABEL: func.func @first
// SCALAR-NOT: vector
func.func @first(%keys: tensor<?xi32>, %offsets: tensor<?xi64>) -> tensor<?xi32> {
  %0 = ragged.sort %keys, %offsets {limit = 8} : (tensor<?xi32>, tensor<?xi64>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// Rows of a matrix are as long as each other: there is code for that length, of as many registers as it takes.

// CHECK-LABEL: func.func @rows
// CHECK: %[[OUT:.*]] = memref.alloc(%{{.*}}) : memref<?xi32>
// CHECK: scf.forall
// CHECK-NOT: scf.if
// CHECK-COUNT-2: vector.load
// CHECK: vector.maskedload
// CHECK-NOT: scf.if
// CHECK-COUNT-2: vector.store %{{.*}}, %[[OUT]]
// CHECK: vector.maskedstore %[[OUT]]
// CHECK-NOT: scf.while
// CHECK: return
func.func @rows(%keys: tensor<?xi32>, %rows: index) -> tensor<?xi32> {
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  %size = arith.addi %rows, %c1 : index
  %e = tensor.empty(%size) : tensor<?xi64>
  %offsets = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  } outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %at = arith.muli %i, %c40 : index
    %n = arith.index_cast %at : index to i64
    linalg.yield %n : i64
  } -> tensor<?xi64>
  %0 = ragged.sort %keys, %offsets : (tensor<?xi32>, tensor<?xi64>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}
