// RUN: ragged-opt %s --split-input-file --mlir-print-debuginfo | FileCheck %s

// Parts are modules of their own; lines count from the top of the file.

// CHECK: func.func @f
// CHECK: loc("{{.*}}split-input-file.mlir":7:1)
func.func @f() { return }

// -----

// CHECK: // -----
// CHECK: func.func @f
func.func @f() { return }
// CHECK: loc("{{.*}}split-input-file.mlir":13:1)
