// RUN: ragged-opt %s --loop-invariant-code-motion --cse | FileCheck %s

// A guard stays where it is, and so does what needs it. What does not, leaves the loop.
// CHECK-LABEL: func.func @loop
// CHECK: math.exp
// CHECK: scf.for
// CHECK:   ragged.assert_conform
// CHECK:   %[[G:.*]] = ragged.guard %{{.*}} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
// CHECK:   arith.addf %[[G]]
func.func @loop(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %0 = math.exp %x : tensor<3x?xf32, #ragged.layout<"dr">>
    ragged.assert_conform %x, %y {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "arith.addf"}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
    %1 = ragged.guard %0 : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
    %2 = arith.addf %1, %y : tensor<3x?xf32, #ragged.layout<"dr">>
    ragged.print %2 : (tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  }
  return
}

// Two guards are one only where no check is between them.
// CHECK-LABEL: func.func @two
// CHECK-COUNT-2: ragged.guard
// CHECK-NOT: ragged.guard
// CHECK: return
func.func @two(%i: index, %n: index) -> (index, index, index) {
  %0 = ragged.guard %i : (index) -> index
  %1 = ragged.guard %i : (index) -> index
  ragged.assert_valid %i, %n {kind = "index", op = "f", level = 0} : (index, index) -> ()
  %2 = ragged.guard %i : (index) -> index
  return %0, %1, %2 : index, index, index
}
