// RUN: not ragged-opt %s %s 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not ragged-opt %s --cse --pass-pipeline=cse 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not ragged-opt %s.missing 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not ragged-opt %s --run-reproducer 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: ragged-opt --version | FileCheck %s --check-prefix=VERSION

// TWO: ragged-opt: expected one input, got '
// BOTH: ragged-opt: expected --pass-pipeline or single passes, got both ('--cse')
// MISSING: ragged-opt: {{.*}}options-invalid.mlir.missing: no such file or directory
// NONE: expected a resource 'mlir_reproducer' with a pipeline in the text, got none
// VERSION: bindings: {{(torch_)?}}mlir
func.func @f() { return }
