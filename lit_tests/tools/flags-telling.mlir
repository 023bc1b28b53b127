// RUN: ragged-opt --help | FileCheck %s --check-prefix=HELP
// RUN: ragged-opt --help-list | FileCheck %s --check-prefix=LIST
// RUN: ragged-opt --list-passes | FileCheck %s --check-prefix=PASSES
// RUN: ragged-opt --show-dialects | FileCheck %s --check-prefix=DIALECTS
// RUN: not ragged-opt %s --mlir-print-ir-befor=cse 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: not ragged-opt %s --debug-only=cse 2>&1 | FileCheck %s --check-prefix=IMPOSSIBLE
// RUN: not ragged-opt /dev/zero 2>&1 | FileCheck %s --check-prefix=ENDLESS
// RUN: echo "func.func @f(%a: !torch.int) { return }" | ragged-opt | FileCheck %s --check-prefix=TORCH

// HELP: usage: ragged-opt
// HELP: --split-input-file[=MARKER]
// HELP: --ragged-canonicalize: Brings nesting into normal form
// HELP-NEXT: seed
// LIST: --allow-unregistered-dialect
// LIST: --verify-roundtrip
// PASSES: --convert-ragged-to-scf:
// PASSES-NEXT: recompute=false  (bool)
// DIALECTS: Available Dialects: {{.*}}ragged, {{.*}}stablehlo, {{.*}}torch
// NEAR: expected a known flag or pass, got the unknown flag '--mlir-print-ir-befor' (did you mean '--mlir-print-ir-before'
// IMPOSSIBLE: expected a flag that can be had here, got '--debug-only' (release builds of LLVM have no debug output)
// ENDLESS: ragged-opt: expected MLIR text or bytecode, got a zero byte
// TORCH: !torch.int
func.func @f() { return }
