// RUN: not ragged-translate %s 2>&1 | FileCheck %s

// CHECK: :6:8: error: expected registered ops of the llvm dialect only, got 'arith.addi'
// CHECK-NOT: error
llvm.func @twice(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  llvm.return %0 : i32
}
