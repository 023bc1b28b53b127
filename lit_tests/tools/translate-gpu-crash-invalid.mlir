// RUN: not ragged-translate --to=llvmir --target=gpu %s 2>&1 | FileCheck %s

// What MLIR's translation cannot express takes its process down, which is a child.
// CHECK: ragged-translate: expected kernels that LLVM IR can express, got some whose translation failed
gpu.module @kernels {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel, passthrough = [3 : i32]} {
    llvm.return
  }
}
