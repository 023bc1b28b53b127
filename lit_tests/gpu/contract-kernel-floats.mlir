// RUN: ragged-opt %s --contract-kernel-floats | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @kernel
  // CHECK: llvm.fmul {{.*}} {fastmathFlags = #llvm.fastmath<contract>} : f32
  // CHECK: llvm.fadd {{.*}} {fastmathFlags = #llvm.fastmath<contract, reassoc>} : f32
  // CHECK: llvm.fsub {{.*}} {fastmathFlags = #llvm.fastmath<fast>} : f32
  // CHECK: llvm.fdiv %{{[^ ]*}}, %{{[^ ]*}} : f32
  llvm.func @kernel(%x: f32, %y: f32, %p: !llvm.ptr) attributes {nvvm.kernel} {
    %m = llvm.fmul %x, %y : f32
    %a = llvm.fadd %m, %y {fastmathFlags = #llvm.fastmath<reassoc>} : f32
    %s = llvm.fsub %a, %y {fastmathFlags = #llvm.fastmath<fast>} : f32
    %d = llvm.fdiv %s, %y : f32
    llvm.store %d, %p : f32, !llvm.ptr
    llvm.return
  }
}

// The host's arithmetic stays as it is.

// CHECK-LABEL: llvm.func @host
// CHECK: llvm.fmul %{{[^ ]*}}, %{{[^ ]*}} : f32
llvm.func @host(%x: f32) -> f32 {
  %m = llvm.fmul %x, %x : f32
  llvm.return %m : f32
}
