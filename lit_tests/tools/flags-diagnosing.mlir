// RUN: not ragged-opt %s 2>&1 | FileCheck %s --check-prefix=CARET
// RUN: not ragged-opt %s --color 2>&1 | FileCheck %s --check-prefix=COLOR
// RUN: not ragged-opt %s --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s --check-prefix=NOTE
// RUN: not ragged-opt %s --mlir-disable-diagnostic-notes 2>&1 | FileCheck %s --check-prefix=NOTE
// RUN: not ragged-opt %s --mlir-diagnostic-verbosity-level=errors 2>&1 | FileCheck %s --check-prefix=CARET
// RUN: not ragged-opt %s --verify-diagnostics 2>&1 | FileCheck %s --check-prefix=UNEXPECTED
// RUN: ragged-opt %s --verify-diagnostics=only-expected

// CARET: flags-diagnosing.mlir:18:8: error: 'arith.addi' op
// CARET-NEXT:   %0 = "arith.addi"(%a, %b) : (i32, i64) -> i32
// CARET-NEXT: {{^ {7}\^}}
// CARET-NEXT: note: see current operation:
// COLOR: flags-diagnosing.mlir:{{[0-9]+}}:8:{{.}}[0m {{.}}[1;31merror:{{.}}[0m
// NOTE: error: 'arith.addi' op
// NOTE-NOT: note:
// UNEXPECTED: error: unexpected error: 'arith.addi' op
func.func @f(%a: i32, %b: i64) {
  %0 = "arith.addi"(%a, %b) : (i32, i64) -> i32
  return
}
