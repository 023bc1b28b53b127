// RUN: ragged-opt %s --convert-forall-to-gpu=threads=64 --canonicalize --cse | FileCheck %s

module attributes {ragged.checks = [["divides", "ragged.split", 1]]} {

// A launch has one block per iteration. Buffers are passed as pointers, their extents as scalars; the
// status comes first, and a block does nothing when it holds a failure. One thread stores.
// CHECK-LABEL: func.func @f
// CHECK-SAME: (%[[N:.*]]: index, %[[M:.*]]: index, %[[X:.*]]: memref<?xindex>, %[[STATUS:.*]]: memref<5xi64>)
// CHECK: %[[GRID:.*]] = arith.muli %[[N]], %[[M]]
// CHECK: %[[S:.*]] = memref.reinterpret_cast %[[STATUS]] to offset: [0], sizes: [], strides: [] : memref<5xi64> to memref<i64>
// CHECK: gpu.launch_func @kernels::@f_0 blocks in (%[[GRID]], %c1, %c1) threads in (%c64, %c1, %c1)
// CHECK-SAME: args(%[[S]] : memref<i64>, %{{.*}} : index, %{{.*}} : memref<index>, %[[M]] : index)
// CHECK: gpu.launch_func @kernels::@f_1 blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
func.func @f(%n: index, %m: index, %x: memref<?xindex>, %status: memref<5xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i, %j) in (%n, %m) {
    %k = arith.addi %i, %j : index
    memref.store %j, %x[%k] : memref<?xindex>
  }
  scf.forall (%i) in (1) {
    scf.for %k = %c0 to %n step %c1 {
      memref.store %k, %x[%k] : memref<?xindex>
    }
  } {ragged.mapping = {threads = 1 : i64}}
  return
}
}

// CHECK: gpu.module @kernels
// CHECK: gpu.func @f_0(%[[STATUS:.*]]: memref<i64> {llvm.align = 16 : i64, llvm.noalias}, %{{.*}}: index, %{{.*}}: memref<index> {llvm.align = 16 : i64}, %[[M:.*]]: index)
// CHECK-SAME: known_block_size = array<i32: 64, 1, 1>
// CHECK: %[[FAILED:.*]] = memref.load %[[STATUS]][]
// CHECK: %[[FINE:.*]] = arith.cmpi eq, %[[FAILED]], %c0_i64
// CHECK: scf.if %[[FINE]]
// CHECK:   %[[BLOCK:.*]] = gpu.block_id x
// CHECK:   %[[I:.*]] = arith.divui %[[BLOCK]], %[[M]]
// CHECK:   %[[ROW:.*]] = arith.muli %[[I]], %[[M]]
// CHECK:   %[[J:.*]] = arith.subi %[[BLOCK]], %[[ROW]]
// CHECK:   scf.if
// CHECK:     memref.store %[[J]]

// One thread needs neither a guard nor barriers.
// CHECK: gpu.func @f_1
// CHECK-NOT: thread_id
// CHECK-NOT: gpu.barrier
// CHECK: scf.for
// CHECK-NEXT: memref.store
