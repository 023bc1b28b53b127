// RUN: ragged-opt %s --split-input-file "--ragged-differentiate=function=f arguments=0" | FileCheck %s

#jagged = #ragged.layout<"dr">

// A loop runs backwards; what its iterations read is stored before.
// CHECK-LABEL: func.func @f_vjp(
// CHECK: scf.for
// CHECK: %[[H:.*]]:2 = scf.for
// CHECK: tensor.insert_slice
// CHECK: scf.for
// CHECK: tensor.extract_slice %[[H]]#1
func.func @f(%x: tensor<3x?xf32, #jagged>, %n: index) -> tensor<3x?xf32, #jagged> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<3x?xf32, #jagged>) {
    %b = arith.mulf %a, %a : tensor<3x?xf32, #jagged>
    scf.yield %b : tensor<3x?xf32, #jagged>
  }
  return %y : tensor<3x?xf32, #jagged>
}

// -----

// Both branches are transposed; what they compute of is computed again.
// CHECK-LABEL: func.func @f_vjp(
// CHECK: scf.if
// CHECK: scf.if
// CHECK: math.cos
func.func @f(%x: tensor<?xf32>, %c: i1) -> tensor<?xf32> {
  %y = scf.if %c -> (tensor<?xf32>) {
    %a = math.sin %x : tensor<?xf32>
    scf.yield %a : tensor<?xf32>
  } else {
    scf.yield %x : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

// A call is what its callee does.
// CHECK-LABEL: func.func @f_vjp(
// CHECK: math.cos
func.func private @g(%x: tensor<?xf32>) -> tensor<?xf32> {
  %a = math.sin %x : tensor<?xf32>
  return %a : tensor<?xf32>
}
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = func.call @g(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// What a loop prints it prints once; what it carries is stored if it has the structure that it starts from.
// CHECK-LABEL: func.func @f_vjp(
// CHECK: scf.for
// CHECK: ragged.print
// CHECK: scf.for
// CHECK-NOT: ragged.print
// CHECK: ragged.assert_conform {{.*}} op = "ragged-differentiate: what scf.for carries"
// CHECK: tensor.insert_slice
// CHECK-NOT: ragged.print
// CHECK: return
func.func @f(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?xf32>) {
    ragged.print %a : (tensor<?xf32>) -> ()
    %b = arith.mulf %a, %a : tensor<?xf32>
    scf.yield %b : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}
