// RUN: ragged-opt %s --expand-kernel-math | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @integers
  // CHECK-SAME: (%[[X:.*]]: i32, %[[I:.*]]: index, %[[OUT:.*]]: memref<i32>)
  // CHECK: %[[A:.*]] = "llvm.intr.abs"(%[[X]]) <{is_int_min_poison = false}> : (i32) -> i32
  // CHECK: %[[WIDE:.*]] = arith.index_cast %[[I]] : index to i64
  // CHECK: %[[L:.*]] = "llvm.intr.ctlz"(%[[WIDE]]) <{is_zero_poison = false}> : (i64) -> i64
  // CHECK: arith.index_cast %[[L]] : i64 to index
  // CHECK-NOT: math.
  gpu.func @integers(%x: i32, %i: index, %out: memref<i32>) kernel {
    %a = math.absi %x : i32
    %l = math.ctlz %i : index
    %n = arith.index_cast %l : index to i32
    %s = arith.addi %a, %n : i32
    memref.store %s, %out[] : memref<i32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @floats
  // CHECK-SAME: (%[[X:.*]]: f16,
  // CHECK: %[[W:.*]] = arith.extf %[[X]] : f16 to f32
  // CHECK: %[[T:.*]] = llvm.intr.trunc(%[[W]]) : (f32) -> f32
  // CHECK: arith.truncf %[[T]] : f32 to f16
  // CHECK: math.sin %[[X]] : f16
  // CHECK: math.cos %[[X]] : f16
  // CHECK: arith.cmpf uno, %[[X]], %[[X]] : f16
  gpu.func @floats(%x: f16, %out: memref<f16>) kernel {
    %t = math.trunc %x : f16
    %s, %c = math.sincos %x : f16
    %n = math.isnan %x : f16
    %a = arith.addf %s, %c : f16
    %r = arith.select %n, %t, %a : f16
    memref.store %r, %out[] : memref<f16>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @powers
  // CHECK-SAME: (%[[X:.*]]: f32, %[[N:.*]]: i32,
  // CHECK: %[[W:.*]] = arith.extf %[[X]] : f32 to f64
  // CHECK: %[[E:.*]] = arith.extsi %[[N]] : i32 to i64
  // CHECK: %[[P:.*]] = func.call @__ragged_power_f64(%[[W]], %[[E]]) : (f64, i64) -> f64
  // CHECK: arith.truncf %[[P]] : f64 to f32
  gpu.func @powers(%x: f32, %n: i32, %out: memref<f32>) kernel {
    %p = math.fpowi %x, %n : f32, i32
    memref.store %p, %out[] : memref<f32>
    gpu.return
  }
  // CHECK: func.func private @__ragged_power_f64
  // CHECK: scf.while
}

// CHECK-LABEL: func.func @host
// CHECK: math.trunc
func.func @host(%x: f32) -> f32 {
  %t = math.trunc %x : f32
  return %t : f32
}
