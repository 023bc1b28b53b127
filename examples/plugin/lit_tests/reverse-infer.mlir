// RUN: ragged-opt %s --ragged-infer-layouts --ragged-insert-checks --ragged-check-conform | FileCheck %s

// The layout goes through the op, and its lengths are those of its operand: the sum needs no check.
// CHECK-LABEL: @f
// CHECK: rowtools.reverse %{{.*}} -> tensor<?x?xf32, #ragged.layout<"dr">>
// CHECK-NOT: ragged.assert_conform
func.func @f(%x: tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %0 = math.exp %x : tensor<?x?xf32, #ragged.layout<"dr">>
  %1 = rowtools.reverse %0 {dim = 1} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %2 = arith.addf %0, %1 : tensor<?x?xf32, #ragged.layout<"dr">>
  return %2 : tensor<?x?xf32, #ragged.layout<"dr">>
}
