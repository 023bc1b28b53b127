// RUN: ragged-opt %s --expand-compressed-stores | FileCheck %s

// CHECK-LABEL: func.func @places
// CHECK-SAME: (%[[BUFFER:.*]]: memref<?xi64>, %[[AT:.*]]: index, %[[MASK:.*]]: vector<8xi1>, %[[LANES:.*]]: vector<8xi64>)
// CHECK: %[[ONES:.*]] = arith.extui %[[MASK]] : vector<8xi1> to vector<8xi64>
// CHECK: %[[COUNT:.*]] = vector.reduction <add>, %[[ONES]]
// CHECK: %[[FIRST:.*]] = vector.create_mask
// CHECK: %[[PACKED:.*]] = llvm.call_intrinsic "llvm.experimental.vector.compress"(%[[LANES]], %[[MASK]], %{{.*}})
// CHECK: vector.maskedstore %[[BUFFER]][%[[AT]]], %[[FIRST]], %[[PACKED]]
// CHECK-NOT: vector.compressstore
func.func @places(%buffer: memref<?xi64>, %at: index, %mask: vector<8xi1>, %lanes: vector<8xi64>) {
  vector.compressstore %buffer[%at], %mask, %lanes : memref<?xi64>, vector<8xi1>, vector<8xi64>
  return
}

// An index is an integer there.
// CHECK-LABEL: func.func @indices
// CHECK: arith.index_cast %{{.*}} : vector<8xindex> to vector<8xi64>
// CHECK: llvm.call_intrinsic
// CHECK: arith.index_cast %{{.*}} : vector<8xi64> to vector<8xindex>
// CHECK: vector.maskedstore
func.func @indices(%buffer: memref<4x?xindex>, %at: index, %mask: vector<8xi1>, %lanes: vector<8xindex>) {
  vector.compressstore %buffer[%at, %at], %mask, %lanes : memref<4x?xindex>, vector<8xi1>, vector<8xindex>
  return
}

// Short elements have 32 bits while they are put side by side.
// CHECK-LABEL: func.func @short
// CHECK: %[[BITS:.*]] = arith.bitcast %{{.*}} : vector<16xf16> to vector<16xi16>
// CHECK: %[[WIDE:.*]] = arith.extui %[[BITS]] : vector<16xi16> to vector<16xi32>
// CHECK: %[[PACKED:.*]] = llvm.call_intrinsic "llvm.experimental.vector.compress"(%[[WIDE]]
// CHECK: %[[NARROW:.*]] = arith.trunci %[[PACKED]] : vector<16xi32> to vector<16xi16>
// CHECK: %[[FLOATS:.*]] = arith.bitcast %[[NARROW]] : vector<16xi16> to vector<16xf16>
// CHECK: vector.maskedstore %{{.*}}, %{{.*}}, %[[FLOATS]]
func.func @short(%buffer: memref<?xf16>, %at: index, %mask: vector<16xi1>, %lanes: vector<16xf16>) {
  vector.compressstore %buffer[%at], %mask, %lanes : memref<?xf16>, vector<16xi1>, vector<16xf16>
  return
}
