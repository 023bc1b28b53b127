// RUN: rm -f %t.mlir
// RUN: not ragged-opt %s --cse --one-shot-bufferize --reproducer=%t.mlir 2>&1 | FileCheck %s
// RUN: not ragged-opt --run-reproducer %t.mlir 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=FILE --input-file=%t.mlir
// RUN: ragged-opt %s --cse --mlir-pass-pipeline-crash-reproducer=%t.mlir
// RUN: FileCheck %s --check-prefix=FILE --input-file=%t.mlir

// CHECK: :13:8: error: op was not bufferized
// FILE: pipeline: "builtin.module(cse,one-shot-bufferize)",
// FILE-NEXT: disable_threading: true,
// FILE-NEXT: verify_each: true
func.func @f(%x: tensor<?xf32>, %o: tensor<4xi64>) -> tensor<?xf32> {
  %r = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %m = ragged.merge %r {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
  return %m : tensor<?xf32>
}
