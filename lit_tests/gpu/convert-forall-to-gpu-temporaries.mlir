// RUN: ragged-opt %s --convert-forall-to-gpu=threads=32 --canonicalize --cse | FileCheck %s

#id = affine_map<(d0) -> (d0)>
!part = memref<?xf32, strided<[1], offset: ?>>

// A small temporary of static size is in shared memory.
// CHECK-LABEL: func.func @small
// CHECK-NOT: memref.alloc
// CHECK: gpu.launch_func
func.func @small(%n: index, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%b) in (%n) {
    %t = memref.alloc() : memref<16xf32>
    %v = memref.load %x[%b] : memref<?xf32>
    memref.store %v, %t[%c0] : memref<16xf32>
    %w = memref.load %t[%c0] : memref<16xf32>
    memref.store %w, %x[%b] : memref<?xf32>
  }
  return
}

// One whose size the host knows has a slot per block in global memory.
// CHECK-LABEL: func.func @slots
// CHECK-SAME: (%[[N:.*]]: index, %[[M:.*]]: index,
// CHECK: memref.alloc(%[[N]], %[[M]]) : memref<?x?xf32>
func.func @slots(%n: index, %m: index, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%b) in (%n) {
    %t = memref.alloc(%m) : memref<?xf32>
    %v = memref.load %x[%b] : memref<?xf32>
    memref.store %v, %t[%c0] : memref<?xf32>
    %w = memref.load %t[%c0] : memref<?xf32>
    memref.store %w, %x[%b] : memref<?xf32>
  }
  return
}

// One of the length of a component has its place where the component has it in what is written.
// CHECK-LABEL: func.func @storage
// CHECK-SAME: (%{{.*}}: index, %{{.*}}: memref<?xindex>, %[[X:.*]]: memref<?xf32>)
// CHECK: %[[SIZE:.*]] = memref.dim %[[X]], %c0
// CHECK: memref.alloc(%[[SIZE]]) : memref<?xf32>
func.func @storage(%n: index, %o: memref<?xindex>, %x: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  scf.forall (%b) in (%n) {
    %low = memref.load %o[%b] : memref<?xindex>
    %next = arith.addi %b, %c1 : index
    %high = memref.load %o[%next] : memref<?xindex>
    %length = arith.subi %high, %low : index
    %t = memref.alloc(%length) : memref<?xf32>
    %v = memref.subview %x[%low] [%length] [1] : memref<?xf32> to !part
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%v : !part) outs(%t : memref<?xf32>) {
    ^bb0(%u: f32, %out: f32):
      linalg.yield %u : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%t : memref<?xf32>) outs(%v : !part) {
    ^bb0(%u: f32, %out: f32):
      %0 = arith.addf %u, %u : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// A slice of a slice: its place starts at the sum of both starts.
// CHECK-LABEL: func.func @slice_of_slice
// CHECK-SAME: (%{{.*}}: index, %{{.*}}: memref<?xindex>, %[[X:.*]]: memref<?xf32>, %[[LOW:.*]]: index, %{{.*}}: index)
// CHECK: %[[SIZE:.*]] = memref.dim %[[X]], %c0
// CHECK: memref.alloc(%[[SIZE]]) : memref<?xf32>
func.func @slice_of_slice(%n: index, %lengths: memref<?xindex>, %x: memref<?xf32>, %low: index, %rows: index) {
  scf.forall (%b) in (%n) {
    %length = memref.load %lengths[%b] : memref<?xindex>
    %t = memref.alloc(%length) : memref<?xf32>
    %p = memref.subview %x[%low] [%rows] [1] : memref<?xf32> to !part
    %v = memref.subview %p[%b] [%length] [1] : !part to !part
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%v : !part) outs(%t : memref<?xf32>) {
    ^bb0(%u: f32, %out: f32):
      linalg.yield %u : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%t : memref<?xf32>) outs(%v : !part) {
    ^bb0(%u: f32, %out: f32):
      %0 = arith.addf %u, %u : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// CHECK: gpu.func @small_0
// CHECK-SAME: workgroup(%[[T:.*]] : memref<16xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
// CHECK: memref.store %{{.*}}, %[[T]][%c0]
// CHECK: gpu.barrier
// CHECK: memref.load %[[T]][%c0]

// CHECK: gpu.func @slots_0
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: memref.subview %{{.*}}[%[[BLOCK]], 0] [1, %{{.*}}] [1, 1]

// CHECK: gpu.func @storage_0
// CHECK: %[[LOW:.*]] = memref.load
// CHECK: %[[LENGTH:.*]] = arith.subi
// CHECK-COUNT-2: memref.subview %{{.*}}[%[[LOW]]] [%[[LENGTH]]] [1]

// CHECK: gpu.func @slice_of_slice_0
// CHECK: %[[LENGTH:.*]] = memref.load
// CHECK: %[[START:.*]] = arith.addi
// CHECK: memref.subview %{{.*}}[%[[START]]] [%[[LENGTH]]]
