// RUN: ragged-opt %s --convert-forall-to-gpu=threads=32 --canonicalize --cse | FileCheck %s

// A temporary of static size is in shared memory.
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

// CHECK: gpu.func @small_0
// CHECK-SAME: workgroup(%[[T:.*]] : memref<16xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
// CHECK: memref.store %{{.*}}, %[[T]][%c0]
// CHECK: gpu.barrier
// CHECK: memref.load %[[T]][%c0]
