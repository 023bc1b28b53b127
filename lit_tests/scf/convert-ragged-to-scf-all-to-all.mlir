// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize --cse | FileCheck %s

// Lengths go first: of every component one, to its rank. Where the rows of a rank begin is then known on both sides.
// CHECK-LABEL: func.func @f
// CHECK-SAME: (%[[X:.*]]: tensor<?x2xf32>, %[[OFFSETS:.*]]: tensor<?xi64>)
// CHECK: %[[LENGTHS:.*]] = linalg.generic
// CHECK: arith.subi
// CHECK: %[[ROOM:.*]] = memref.alloc(%{{.*}}) : memref<?xi64>
// CHECK: bufferization.to_buffer %[[LENGTHS]] read_only
// CHECK: %[[CODE:.*]] = call @ragged_exchange({{.*}}, %c8_i64, %{{.*}}, %c1_i64)
// CHECK: call @ragged_require(%[[CODE]])
// CHECK: %[[GOT:.*]] = bufferization.to_tensor %[[ROOM]] restrict writable
// CHECK: %[[NEW:.*]]:2 = scf.for
// CHECK: tensor.extract %[[GOT]]
// CHECK: ragged.fold = {kind = "scan"}
// CHECK: %[[ROWS:.*]] = memref.alloc(%{{.*}}) : memref<?x2xf32>
// CHECK: bufferization.to_buffer %[[X]] read_only : tensor<?x2xf32> to memref<?x2xf32>
// CHECK: call @ragged_exchange({{.*}}, %c8_i64, %{{.*}}, %c0_i64)
// CHECK: call @ragged_require
// CHECK: %[[VALUES:.*]] = bufferization.to_tensor %[[ROWS]] restrict writable
// CHECK: return %[[VALUES]], %[[NEW]]#1
func.func @f(%x: tensor<?x?x2xf32, #ragged.layout<"dr|d">>) -> tensor<?x?x2xf32, #ragged.layout<"dr|d">> {
  %0 = ragged.all_to_all %x : (tensor<?x?x2xf32, #ragged.layout<"dr|d">>) -> tensor<?x?x2xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<?x?x2xf32, #ragged.layout<"dr|d">>
}
