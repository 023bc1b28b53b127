// RUN: ragged-opt %s --lower-libdevice-calls | FileCheck %s

// CHECK: gpu.module
gpu.module @kernels {
  // CHECK-NOT: @__nv_sqrtf
  // CHECK: llvm.func @__nv_expf(f32) -> f32
  llvm.func @__nv_sqrtf(f32) -> f32
  llvm.func @__nv_fma(f64, f64, f64) -> f64
  llvm.func @__nv_expf(f32) -> f32

  // CHECK-LABEL: llvm.func @kernel
  // CHECK-SAME: (%[[X:.*]]: f32, %[[Y:.*]]: f64,
  // CHECK: %[[S:.*]] = llvm.intr.sqrt(%[[X]]) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> f32
  // CHECK: llvm.intr.fma(%[[Y]], %[[Y]], %[[Y]]) : (f64, f64, f64) -> f64
  // CHECK: llvm.call @__nv_expf(%[[S]]) : (f32) -> f32
  llvm.func @kernel(%x: f32, %y: f64, %p: !llvm.ptr) attributes {nvvm.kernel} {
    %s = llvm.call @__nv_sqrtf(%x) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> f32
    %f = llvm.call @__nv_fma(%y, %y, %y) : (f64, f64, f64) -> f64
    %e = llvm.call @__nv_expf(%s) : (f32) -> f32
    llvm.store %e, %p : f32, !llvm.ptr
    llvm.store %f, %p : f64, !llvm.ptr
    llvm.return
  }
}
