// RUN: ragged-opt %s "--ragged-differentiate=mode=jvp result=tangents" | FileCheck %s

#jagged = #ragged.layout<"dr">

// Tangents of the arguments come in, those of the results go out.
// CHECK-LABEL: func.func @tangents(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[T:[a-z0-9]*]]: tensor<3x?xf32
// CHECK: %[[E:.*]] = math.exp %[[X]]
// CHECK: %[[G:.*]] = arith.mulf %[[T]], %[[E]]
// CHECK: return %[[G]]
func.func @f(%x: tensor<3x?xf32, #jagged>) -> tensor<3x?xf32, #jagged> {
  %y = math.exp %x : tensor<3x?xf32, #jagged>
  return %y : tensor<3x?xf32, #jagged>
}
