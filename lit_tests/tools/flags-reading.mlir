// RUN: ragged-opt %s --split-input-file="// === next" --output-split-marker="// +++" | FileCheck %s --check-prefix=SPLIT
// RUN: not ragged-opt %s --no-implicit-module 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: echo "func.func @only() { return }" | ragged-opt --no-implicit-module | FileCheck %s --check-prefix=ONE
// RUN: echo "irdl.dialect @mine { irdl.operation @op {} }" > %t.mlir
// RUN: echo 'func.func @only() { "mine.op"() : () -> () return }' | ragged-opt --irdl-file=%t.mlir | FileCheck %s --check-prefix=IRDL
// RUN: echo 'func.func @only() { "mine.op"() : () -> () return }' | not ragged-opt 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: echo 'func.func @only() { "mine.op"() : () -> () return }' | ragged-opt --allow-unregistered-dialect | FileCheck %s --check-prefix=IRDL
// RUN: ragged-opt %s --verify-roundtrip --emit-bytecode --emit-bytecode-producer=me --emit-bytecode-version=6 -o %t.mlirbc
// RUN: ragged-opt %t.mlirbc --elide-resource-data-from-bytecode=0 | FileCheck %s --check-prefix=BYTECODE
// RUN: ragged-opt %s --cse --verify-each=false --mlir-disable-threading --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=PIPELINE
// RUN: not ragged-opt %s --no-plugins --load-pass-plugin=libpass.so 2>&1 | FileCheck %s --check-prefix=PLUGIN
// RUN: echo '{-# external_resources: { mlir_reproducer: { pipeline: "builtin.module(symbol-privatize)" } } #-}' > %t.repro.mlir
// RUN: ragged-opt --run-reproducer --mlir-generate-reproducer=%t.again.mlir --mlir-pass-pipeline-local-reproducer=0 %t.repro.mlir
// RUN: FileCheck %s --check-prefix=AGAIN --input-file=%t.again.mlir

// SPLIT-LABEL: func.func @f
// SPLIT: {{^}}// +++
// SPLIT-LABEL: func.func @g
// TWO: expected one op in the file with
// ONE-NOT: module
// ONE: func.func @only() {
// IRDL: "mine.op"() : () -> ()
// UNKNOWN: <stdin>:1:30: error: operation being parsed with an unregistered dialect
// BYTECODE-LABEL: func.func @f
// BYTECODE-LABEL: func.func @g
// PIPELINE: Pass Manager with 1 passes:
// PIPELINE-NEXT: builtin.module(
// PIPELINE-NEXT: cse
// PLUGIN: expected a Python module as plug-in, got the shared library 'libpass.so'
// AGAIN: pipeline: "builtin.module(symbol-privatize)"
// AGAIN: verify_each: true
func.func @f() { return }
// === next
func.func @g() { return }
