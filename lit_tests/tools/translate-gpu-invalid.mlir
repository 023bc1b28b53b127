// RUN: not ragged-translate --to=ptx %s 2>&1 | FileCheck %s
// RUN: not ragged-translate --to=ptx --arch=sm_1 %s 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: not ragged-translate --to=ptx --target=cpu %s 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not ragged-translate --check-ptx %s 2>&1 | FileCheck %s --check-prefix=PTX

// ARCH: ragged-translate: expected an arch among sm_80, {{.*}}, got 'sm_1'
// TARGET: error: expected --target=gpu for --to=ptx, got cpu
// PTX: error: expected --to=ptx for --check-ptx, got --to=llvmir
gpu.module @kernels {
  gpu.func @product(%p: memref<f32>, %x: f32) kernel {
    // CHECK: translate-gpu-invalid.mlir:13:10: error: expected ops that lower to the llvm and nvvm dialects, got 'memref.atomic_rmw'
    // GPUs have no atomic multiplication.
    %r = memref.atomic_rmw mulf %x, %p[] : (f32, memref<f32>) -> f32
    gpu.return
  }
}
