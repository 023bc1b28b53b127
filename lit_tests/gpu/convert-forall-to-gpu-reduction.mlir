// RUN: ragged-opt %s --convert-forall-to-gpu=threads=128 --canonicalize --cse | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#none = affine_map<(d0) -> ()>
!rows = memref<64x8xf32, strided<[8, 1], offset: ?>>
!sums = memref<64xf32, strided<[1], offset: ?>>
!part = memref<?xf32, strided<[1], offset: ?>>
!sum = memref<f32, strided<[], offset: ?>>

// Two threads share a row of 8: wide loads, one shuffle, and the first of the two stores.
// CHECK: gpu.func @row_0
// CHECK-NOT: workgroup
// CHECK: vector.load %{{.*}} vector<4xf32>
// CHECK: gpu.shuffle xor %{{.*}}, %c1_i32, %c32_i32 : i32
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK: scf.if
// CHECK:   memref.store
// CHECK: gpu.return
func.func @row(%n: index, %x: memref<?x8xf32>, %y: memref<?xf32>) {
  scf.forall (%b) in (%n) {
    %rows = memref.subview %x[%b, 0] [64, 8] [1, 1] : memref<?x8xf32> to !rows
    %sums = memref.subview %y[%b] [64] [1] : memref<?xf32> to !sums
    linalg.generic {indexing_maps = [#id2, #first], iterator_types = ["parallel", "reduction"]}
        ins(%rows : !rows) outs(%sums : !sums) {
    ^bb0(%v: f32, %out: f32):
      %0 = arith.addf %v, %out : f32
      linalg.yield %0 : f32
    }
  } {ragged.mapping = {schedule = "general"}}
  return
}

// All threads share a component: five shuffles in a warp, one step through shared memory across the
// four warps. The fill before it is where the sum starts, and nothing is stored for it.
// CHECK: gpu.func @component_0
// CHECK-SAME: workgroup(%[[PARTS:.*]] : memref<128xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
// CHECK: %[[START:.*]] = arith.constant 1.000000e+00
// CHECK-NOT: memref.store
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: memref.store %{{.*}}, %[[PARTS]][%[[THREAD:.*]]]
// CHECK: gpu.barrier
// CHECK-COUNT-3: memref.load %[[PARTS]]
// CHECK: scf.if
// CHECK-NEXT: %[[TOTAL:.*]] = arith.addf %{{.*}}, %[[START]]
// CHECK-NEXT: memref.store %[[TOTAL]]
// CHECK-NOT: memref.store
// CHECK: gpu.return
func.func @component(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  %one = arith.constant 1.0 : f32
  scf.forall (%b) in (%n) {
    %part = memref.subview %x[%b] [%n] [1] : memref<?xf32> to !part
    %sum = memref.subview %y[%b] [1] [1] : memref<?xf32> to !sum
    linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
        ins(%one : f32) outs(%sum : !sum) {
    ^bb0(%v: f32, %out: f32):
      linalg.yield %v : f32
    }
    linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%part : !part) outs(%sum : !sum) {
    ^bb0(%v: f32, %out: f32):
      %0 = arith.addf %v, %out : f32
      linalg.yield %0 : f32
    }
  }
  return
}
