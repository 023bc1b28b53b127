// RUN: ragged-opt %s --pass-pipeline="builtin.module(func.func(cse),ragged-canonicalize{seed=5},func.func(cse))" | FileCheck %s
// RUN: ragged-opt %s --pass-pipeline="cse,ragged-canonicalize" --mlir-timing --mlir-print-ir-after-change 2>&1 | FileCheck %s --check-prefix=CHANGE
// RUN: ragged-opt %s --ragged-canonicalize --cse --mlir-print-ir-after-all 2>&1 | FileCheck %s --check-prefix=ORDER

// CHECK-LABEL: func.func @f
// CHECK-NEXT: return %arg0
// CHANGE: IR Dump After ragged-canonicalize
// CHANGE: {{%\)}}  cse
// CHANGE: {{%\)}}  ragged-canonicalize
// CHANGE: (100.0%)  Total
// ORDER: IR Dump After ragged-canonicalize //
// ORDER: IR Dump After cse //
func.func @f(%x: tensor<?xf32>, %o: tensor<4xi64>) -> tensor<?xf32> {
  %r = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %m = ragged.merge %r {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
  return %m : tensor<?xf32>
}
