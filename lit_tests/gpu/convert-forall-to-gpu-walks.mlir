// RUN: ragged-opt %s --convert-forall-to-gpu=threads=64 --canonicalize --cse | FileCheck %s

#row = affine_map<(i, d) -> (d)>
#all = affine_map<(i, d) -> (i, d)>
!rows = memref<?x8xf32, strided<[8, 1], offset: ?>>
!sums = memref<8xf32, strided<[1], offset: ?>>

// Running sums of the rows of a component: a thread has what it accumulates in a register.
// CHECK-LABEL: gpu.func @rows_0
// CHECK:         vector.load
// CHECK:         %[[END:.*]]:4 = scf.for %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) -> (f32, f32, f32, f32)
// CHECK-COUNT-1:   vector.load
// CHECK:           %[[NEXT:.*]] = arith.addf %[[SUM]], %{{.*}}
// CHECK-COUNT-1:   vector.store
// CHECK:           scf.yield %[[NEXT]]
// CHECK:         vector.from_elements %[[END]]#0
// CHECK:         vector.store
func.func @rows(%n: index, %m: index, %x: memref<?x8xf32>, %y: memref<?x8xf32>, %z: memref<?x8xf32>) attributes {ragged.checked} {
  %a = memref.alloc(%n) : memref<?x8xf32>
  %b = memref.alloc(%n) : memref<?x8xf32>
  scf.forall (%i) in (%n) {
    %rows = memref.subview %x[%i, 0] [%m, 8] [1, 1] : memref<?x8xf32> to !rows
    %made = memref.subview %a[%i, 0] [%m, 8] [1, 1] : memref<?x8xf32> to !rows
    %sums = memref.subview %b[%i, 0] [1, 8] [1, 1] : memref<?x8xf32> to !sums
    linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["reduction", "parallel"]}
        ins(%rows : !rows) outs(%sums, %made : !sums, !rows) {
    ^bb0(%v: f32, %sum: f32, %out: f32):
      %0 = arith.addf %sum, %v : f32
      linalg.yield %0, %0 : f32, f32
    }
  }
  return
}

#one = affine_map<(i) -> ()>
#each = affine_map<(i) -> (i)>
!part = memref<?xf32, strided<[1], offset: ?>>

// What is for one thread is done by one: a block has many components, and what they have for themselves.
// CHECK-LABEL: gpu.func @components_0
// CHECK-SAME:    workgroup(%[[OWN:.*]] : memref<64x1xf32, #gpu.address_space<workgroup>>
// CHECK-SAME:    known_block_size = array<i32: 64, 1, 1>
// CHECK:         %[[THREAD:.*]] = gpu.thread_id x
// CHECK:         %[[BLOCK:.*]] = gpu.block_id x
// CHECK:         %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c64
// CHECK:         %[[COMPONENT:.*]] = arith.addi %[[FIRST]], %[[THREAD]]
// CHECK:         %[[THERE:.*]] = arith.cmpi slt, %[[COMPONENT]], %{{.*}}
// CHECK:         scf.if %[[THERE]]
// CHECK:           memref.subview %[[OWN]][%[[THREAD]], 0]
// CHECK:           memref.subview %{{.*}}[%[[COMPONENT]]]
// CHECK-NOT:     gpu.barrier
// CHECK:         gpu.return
func.func @components(%n: index, %m: index, %x: memref<?xf32>, %y: memref<?xf32>) attributes {ragged.checked} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %a = memref.alloc(%n) : memref<?xf32>
  scf.forall (%i) in (%n) {
    %own = memref.alloc() : memref<1xf32>
    memref.store %zero, %own[%c0] : memref<1xf32>
    %sum = memref.subview %own[0] [1] [1] : memref<1xf32> to memref<f32, strided<[]>>
    %part = memref.subview %x[%i] [%m] [1] : memref<?xf32> to !part
    %made = memref.subview %a[%i] [%m] [1] : memref<?xf32> to !part
    linalg.generic {indexing_maps = [#each, #one, #each], iterator_types = ["reduction"]}
        ins(%part : !part) outs(%sum, %made : memref<f32, strided<[]>>, !part) {
    ^bb0(%v: f32, %so_far: f32, %out: f32):
      %0 = arith.addf %so_far, %v : f32
      linalg.yield %0, %0 : f32, f32
    }
  } {ragged.mapping = {schedule = "general", threads = 1 : i64}}
  return
}
