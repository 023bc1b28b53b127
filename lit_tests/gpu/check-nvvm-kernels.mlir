// RUN: ragged-opt %s --check-nvvm-kernels | FileCheck %s

// What the host does is not looked at.

// CHECK-LABEL: func.func @host
func.func @host(%x: f32) -> f32 {
  %t = math.trunc %x : f32
  return %t : f32
}

// CHECK-LABEL: llvm.func @kernel
gpu.module @kernels {
  llvm.func @kernel(%p: !llvm.ptr) attributes {nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    llvm.store %t, %p : i32, !llvm.ptr
    llvm.return
  }
}
