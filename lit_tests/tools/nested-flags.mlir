// RUN: ragged-opt %s --llvm-request-c-wrappers --promote-buffers-to-stack=max-alloc-size-in-bytes=64 --cse --dump-pass-pipeline 2>&1 | FileCheck %s

// Flags of passes on functions are nested under functions, as mlir-opt does.
// CHECK: builtin.module(
// CHECK-NEXT: func.func(llvm-request-c-wrappers),
// CHECK-NEXT: func.func(promote-buffers-to-stack{max-alloc-size-in-bytes=64}),
// CHECK-NEXT: cse
// CHECK: func.func @wrapped()
// CHECK-SAME: llvm.emit_c_interface
func.func @wrapped() {
  return
}
