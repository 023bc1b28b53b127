// RUN: ragged-opt %s --multiply-constant-powers | FileCheck %s

// CHECK-LABEL: func.func @floats
// CHECK-SAME: %[[X:.*]]: f32)
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1.0
// CHECK-DAG: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[X]]
// CHECK-DAG: %[[SQUARE:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK: return %[[INVERSE]], %{{.*}}, %[[X]], %[[SQUARE]]
func.func @floats(%x: f32) -> (f32, f32, f32, f32) {
  %cm1 = arith.constant -1.0 : f32
  %c0 = arith.constant 0.0 : f32
  %c1 = arith.constant 1.0 : f32
  %c2 = arith.constant 2.0 : f32
  %inverse = math.powf %x, %cm1 : f32
  %one = math.powf %x, %c0 : f32
  %same = math.powf %x, %c1 : f32
  %square = math.powf %x, %c2 : f32
  return %inverse, %one, %same, %square : f32, f32, f32, f32
}

// CHECK-LABEL: func.func @integers
// CHECK-SAME: %[[X:.*]]: i32)
// CHECK-NOT: math.ipowi
// CHECK: return
func.func @integers(%x: i32) -> (i32, i32, i32, i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %one = math.ipowi %x, %c0 : i32
  %same = math.ipowi %x, %c1 : i32
  %square = math.ipowi %x, %c2 : i32
  %cube = math.ipowi %x, %c3 : i32
  return %one, %same, %square, %cube : i32, i32, i32, i32
}

// Other exponents are powers: a cube of floats would be rounded twice.

// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: math.powf
// CHECK: math.ipowi
// CHECK: return
func.func @others(%x: f32, %y: f32, %i: i32) -> (f32, f32, f32, f32, i32) {
  %c3 = arith.constant 3.0 : f32
  %c = arith.constant 2.5 : f32
  %half = arith.constant 0.5 : f32
  %minus = arith.constant -1 : i32
  %0 = math.powf %x, %c3 : f32
  %1 = math.powf %x, %c : f32
  %2 = math.powf %x, %half : f32
  %3 = math.powf %x, %y : f32
  %4 = math.ipowi %i, %minus : i32
  return %0, %1, %2, %3, %4 : f32, f32, f32, f32, i32
}
