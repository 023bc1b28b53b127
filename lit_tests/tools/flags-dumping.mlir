// RUN: ragged-opt %s --cse --ragged-canonicalize --mlir-print-ir-before=cse --mlir-print-ir-after=ragged-canonicalize 2>&1 >/dev/null | FileCheck %s --check-prefix=NAMED
// RUN: ragged-opt %s --cse --mlir-print-ir-before-all --mlir-print-ir-after-all --mlir-print-op-generic 2>&1 >/dev/null | FileCheck %s --check-prefix=ALL
// RUN: ragged-opt %s --cse --cse --mlir-print-ir-after-change 2>&1 >/dev/null | FileCheck %s --check-prefix=CHANGE
// RUN: not ragged-opt %s --cse --one-shot-bufferize --mlir-print-ir-after-failure 2>&1 | FileCheck %s --check-prefix=FAILURE
// RUN: ragged-opt %s --pass-pipeline="func.func(cse)" --mlir-print-ir-after-all 2>&1 >/dev/null | FileCheck %s --check-prefix=SCOPE
// RUN: ragged-opt %s --pass-pipeline="func.func(cse)" --mlir-print-ir-after-all --mlir-print-ir-module-scope 2>&1 >/dev/null | FileCheck %s --check-prefix=MODULE
// RUN: rm -rf %t
// RUN: ragged-opt %s --pass-pipeline="func.func(cse),ragged-canonicalize" --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t 2>&1 | FileCheck %s --check-prefix=TREE
// RUN: FileCheck %s --check-prefix=FILE --input-file=%t/builtin_module_no-symbol-name/func_func_f/0_cse.mlir
// RUN: ls %t/builtin_module_no-symbol-name/func_func_g/0_cse.mlir %t/builtin_module_no-symbol-name/1_ragged-canonicalize.mlir
// RUN: ragged-opt %s --ragged-to-llvm-pipeline --mlir-print-ir-after=convert-ragged-to-scf 2>&1 >/dev/null | FileCheck %s --check-prefix=STAGE

// NAMED: IR Dump Before cse //----- //
// NAMED: ragged.partition
// NAMED: IR Dump After ragged-canonicalize //----- //
// NAMED-NOT: IR Dump
// ALL: IR Dump Before cse //----- //
// ALL: "ragged.partition"(%arg0, %arg1)
// ALL: IR Dump After cse //----- //
// CHANGE: IR Dump After cse //
// CHANGE-NOT: IR Dump
// FAILURE-NOT: IR Dump After cse
// FAILURE: IR Dump After one-shot-bufferize Failed //----- //
// SCOPE: IR Dump After cse //----- //
// SCOPE-NEXT: func.func @f
// SCOPE: IR Dump After cse //----- //
// SCOPE-NEXT: func.func @g
// MODULE: IR Dump After cse //----- //
// MODULE-NEXT: module {
// TREE-NOT: IR Dump
// TREE: module {
// FILE: IR Dump After cse
// FILE-NEXT: func.func @f
// FILE: ragged.partition %arg0
// FILE-NOT: ragged.partition
// STAGE: IR Dump After convert-ragged-to-scf (stage 'scf') //----- //
func.func @f(%x: tensor<?xf32>, %o: tensor<4xi64>) -> tensor<?xf32> {
  %r = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %s = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %m = ragged.merge %r {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
  return %m : tensor<?xf32>
}
func.func @g() { return }
