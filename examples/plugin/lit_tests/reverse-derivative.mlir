// RUN: ragged-opt %s --ragged-differentiate | FileCheck %s

// CHECK-LABEL: @f_vjp
// CHECK-SAME: %{{.*}}: tensor{{.*}}, %[[C:.*]]: tensor
// CHECK: %[[BACK:.*]] = rowtools.reverse %[[C]] {dim = 1}
// CHECK: return %[[BACK]]
func.func @f(%x: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %0 = rowtools.reverse %x {dim = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dr">>
}
