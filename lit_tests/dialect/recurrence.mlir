// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

!x = tensor<3x?x8xf32, #ragged.layout<"dr|d">>

// CHECK-LABEL: func.func @discounted
// CHECK: ragged.recurrence %{{.*}}, %{{.*}} {dim = 1} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
func.func @discounted(%x: !x, %factors: !x) -> !x {
  %0 = ragged.recurrence %x, %factors {dim = 1} : (!x, !x) -> !x
  return %0 : !x
}

// Windows become a tensor of its own.

!w = tensor<?x?xf64, #ragged.layout<"dw">>
!r = tensor<?x?xf64, #ragged.layout<"dr">>

// CHECK-LABEL: func.func @backwards
// CHECK: ragged.recurrence %{{.*}}, %{{.*}} {dim = 1, reverse} : (tensor<?x?xf64, #ragged.layout<"dw">>, tensor<?x?xf64, #ragged.layout<"dw">>) -> tensor<?x?xf64, #ragged.layout<"dr">>
func.func @backwards(%x: !w, %factors: !w) -> !r {
  %0 = ragged.recurrence %x, %factors {dim = 1, reverse} : (!w, !w) -> !r
  return %0 : !r
}
