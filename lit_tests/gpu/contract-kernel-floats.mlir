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

  // What an exponential is taken of, of its lanes, or of it in another type.
  // CHECK-LABEL: llvm.func @exponents
  // CHECK: llvm.fmul {{.*}} {fastmathFlags = #llvm.fastmath<contract>} : f16
  // CHECK-COUNT-3: llvm.fsub %{{[^ ]*}}, %{{[^ ]*}} :
  // CHECK: llvm.fsub {{.*}} {fastmathFlags = #llvm.fastmath<contract>} : f32
  llvm.func @__nv_expf(f32) -> f32
  llvm.func @__nv_fast_expf(f32) -> f32
  llvm.func @exponents(%x: f16, %y: f32, %z: vector<2xf32>, %k: i32) -> f32 {
    %m = llvm.fmul %x, %x : f16
    %0 = llvm.fsub %m, %x : f16
    %1 = llvm.fpext %0 : f16 to f32
    %2 = llvm.call @__nv_expf(%1) : (f32) -> f32
    %3 = llvm.fsub %z, %z : vector<2xf32>
    %4 = llvm.extractelement %3[%k : i32] : vector<2xf32>
    %5 = llvm.call @__nv_fast_expf(%4) : (f32) -> f32
    %6 = llvm.fsub %y, %2 : f32
    %7 = llvm.call @__nv_expf(%6) : (f32) -> f32
    %8 = llvm.fsub %5, %7 : f32
    llvm.return %8 : f32
  }
}

// The host's arithmetic stays as it is.

// CHECK-LABEL: llvm.func @host
// CHECK: llvm.fmul %{{[^ ]*}}, %{{[^ ]*}} : f32
llvm.func @host(%x: f32) -> f32 {
  %m = llvm.fmul %x, %x : f32
  llvm.return %m : f32
}
