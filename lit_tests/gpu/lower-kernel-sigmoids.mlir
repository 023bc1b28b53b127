// RUN: ragged-opt %s --lower-kernel-sigmoids | FileCheck %s

gpu.module @kernels {
  llvm.func @__nv_expf(f32) -> f32

  // CHECK-LABEL: llvm.func @sigmoid
  // CHECK: llvm.fdiv %{{.*}}, %{{.*}} {fastmathFlags = #llvm.fastmath<afn>} : f32
  llvm.func @sigmoid(%x: f32, %p: !llvm.ptr) attributes {nvvm.kernel} {
    %one = llvm.mlir.constant(1.000000e+00 : f32) : f32
    %e = llvm.call @__nv_expf(%x) : (f32) -> f32
    %d = llvm.fadd %e, %one : f32
    %s = llvm.fdiv %one, %d : f32
    llvm.store %s, %p : f32, !llvm.ptr
    llvm.return
  }

  // CHECK-LABEL: llvm.func @other
  // CHECK: llvm.fdiv %{{[^ ]*}}, %{{[^ ]*}} : f32
  // CHECK: llvm.fdiv %{{[^ ]*}}, %{{[^ ]*}} : f32
  // CHECK: llvm.fdiv %{{[^ ]*}}, %{{[^ ]*}} : f32
  llvm.func @other(%x: f32, %p: !llvm.ptr) attributes {nvvm.kernel} {
    %one = llvm.mlir.constant(1.000000e+00 : f32) : f32
    %two = llvm.mlir.constant(2.000000e+00 : f32) : f32
    %e = llvm.call @__nv_expf(%x) : (f32) -> f32
    %d = llvm.fadd %e, %one : f32
    %a = llvm.fdiv %two, %d : f32
    %f = llvm.fadd %e, %two : f32
    %b = llvm.fdiv %one, %f : f32
    %c = llvm.fdiv %one, %x : f32
    %s = llvm.fadd %a, %b : f32
    %t = llvm.fadd %s, %c : f32
    llvm.store %t, %p : f32, !llvm.ptr
    llvm.return
  }
}
