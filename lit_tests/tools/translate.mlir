// RUN: ragged-translate --mlir-to-llvmir %s | FileCheck %s

// CHECK-LABEL: define i32 @twice(i32 %0)
// CHECK: add i32 %0, %0
llvm.func @twice(%a: i32) -> i32 {
  %0 = llvm.add %a, %a : i32
  llvm.return %0 : i32
}
