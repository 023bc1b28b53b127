// RUN: ragged-opt %s --define-integer-divisions | FileCheck %s

// CHECK-LABEL: func.func @unsigned
// CHECK-SAME: (%[[A:.*]]: i32, %[[B:.*]]: i32)
// CHECK: %[[ZERO:.*]] = arith.cmpi eq, %[[B]], %{{.*}} : i32
// CHECK: %[[SAFE:.*]] = arith.select %[[ZERO]], %{{.*}}, %[[B]] : i32
// CHECK: %[[Q:.*]] = arith.divui %[[A]], %[[SAFE]] : i32
// CHECK: %[[R:.*]] = arith.select %[[ZERO]], %{{.*}}, %[[Q]] : i32
// CHECK: return %[[R]]
func.func @unsigned(%a: i32, %b: i32) -> i32 {
  %q = arith.divui %a, %b : i32
  return %q : i32
}

// A quotient by -1 is the dividend with the other sign; it wraps.
// CHECK-LABEL: func.func @signed
// CHECK-SAME: (%[[A:.*]]: index, %[[B:.*]]: index)
// CHECK: %[[ZERO:.*]] = arith.cmpi eq, %[[B]], %{{.*}} : index
// CHECK: %[[MINUS:.*]] = arith.cmpi eq, %[[B]], %{{.*}} : index
// CHECK: %[[UNSAFE:.*]] = arith.ori %[[ZERO]], %[[MINUS]]
// CHECK: %[[SAFE:.*]] = arith.select %[[UNSAFE]], %{{.*}}, %[[B]] : index
// CHECK: %[[Q:.*]] = arith.floordivsi %[[A]], %[[SAFE]] : index
// CHECK: %[[NEGATED:.*]] = arith.subi %{{.*}}, %[[A]] : index
// CHECK: %[[WRAPPED:.*]] = arith.select %[[MINUS]], %[[NEGATED]], %[[Q]] : index
// CHECK: arith.select %[[ZERO]], %{{.*}}, %[[WRAPPED]] : index
func.func @signed(%a: index, %b: index) -> index {
  %q = arith.floordivsi %a, %b : index
  return %q : index
}

// By 1 nothing is left.
// CHECK-LABEL: func.func @remainder
// CHECK: %[[SAFE:.*]] = arith.select
// CHECK: %[[R:.*]] = arith.remsi %{{.*}}, %[[SAFE]] : i8
// CHECK-NEXT: return %[[R]]
func.func @remainder(%a: i8, %b: i8) -> i8 {
  %r = arith.remsi %a, %b : i8
  return %r : i8
}

// Bodies of linalg ops hold scalars too.
// CHECK-LABEL: func.func @body
// CHECK: linalg.map
// CHECK: arith.select
// CHECK: arith.remui
func.func @body(%x: tensor<?xi64>, %n: i64) -> tensor<?xi64> {
  %y = linalg.map ins(%x : tensor<?xi64>) outs(%x : tensor<?xi64>) (%v: i64, %o: i64) {
    %r = arith.remui %v, %n : i64
    linalg.yield %r : i64
  }
  return %y : tensor<?xi64>
}

// Whole tensors come later; what is known to be safe stays.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: arith.cmpi
// CHECK: arith.divsi %{{.*}}, %{{.*}} : tensor<?xi32>
// CHECK: arith.divsi
// CHECK: arith.cmpi eq
// CHECK-NOT: arith.cmpi
// CHECK: return
func.func @left_alone(%x: tensor<?xi32>, %z: tensor<?xi32>, %a: i32, %b: i32) -> (tensor<?xi32>, i32, i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c7 = arith.constant 7 : i32
  %t = arith.divsi %x, %z : tensor<?xi32>
  %q = arith.divsi %a, %c7 : i32
  %zero = arith.cmpi eq, %b, %c0 : i32
  %safe = arith.select %zero, %c1, %b : i32
  %r = arith.remui %a, %safe : i32
  return %t, %q, %r : tensor<?xi32>, i32, i32
}

// 0 to a negative power is a quotient by 0, and 2 to that is 0.
// CHECK-LABEL: func.func @power
// CHECK-SAME: (%[[A:.*]]: i32, %[[B:.*]]: i32)
// CHECK-DAG: %[[ZERO:.*]] = arith.cmpi eq, %[[A]], %{{.*}} : i32
// CHECK-DAG: %[[NEGATIVE:.*]] = arith.cmpi slt, %[[B]], %{{.*}} : i32
// CHECK: %[[NOTHING:.*]] = arith.andi %[[ZERO]], %[[NEGATIVE]]
// CHECK: %[[BASE:.*]] = arith.select %[[NOTHING]], %c2{{.*}}, %[[A]] : i32
// CHECK: math.ipowi %[[BASE]], %[[B]] : i32
// CHECK-NOT: arith.andi
// CHECK: return
func.func @power(%a: i32, %b: i32) -> (i32, i32, i32, i32) {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %p = math.ipowi %a, %b : i32
  %square = math.ipowi %a, %c2 : i32
  %of_two = math.ipowi %c2, %b : i32
  %safe = arith.cmpi eq, %a, %c0 : i32
  %base = arith.select %safe, %c2, %a : i32
  %again = math.ipowi %base, %b : i32
  return %p, %square, %of_two, %again : i32, i32, i32, i32
}

// What whole tensors are divided by themselves is said before MLIR says 1.

// CHECK-LABEL: func.func @itself
// CHECK-SAME: (%[[X:.*]]: tensor<?xi32>, %[[R:.*]]: tensor<?x?xindex, #ragged.layout<"dr">>
// CHECK-NOT: divsi
// CHECK: %[[ZERO:.*]] = arith.subi %[[X]], %[[X]]
// CHECK: %[[SOME:.*]] = arith.cmpi ne, %[[X]], %[[ZERO]]
// CHECK: arith.extui %[[SOME]] : tensor<?xi1> to tensor<?xi32>
// CHECK: arith.cmpi ne, %[[R]], %{{.*}} : tensor<?x?xindex, #ragged.layout<"dr">>
// CHECK: arith.index_castui
// CHECK: arith.remsi
func.func @itself(%x: tensor<?xi32>, %r: tensor<?x?xindex, #ragged.layout<"dr">>)
    -> (tensor<?xi32>, tensor<?x?xindex, #ragged.layout<"dr">>, tensor<?xi32>) {
  %0 = arith.divsi %x, %x : tensor<?xi32>
  %1 = arith.ceildivui %r, %r : tensor<?x?xindex, #ragged.layout<"dr">>
  %2 = arith.remsi %x, %x : tensor<?xi32>
  return %0, %1, %2 : tensor<?xi32>, tensor<?x?xindex, #ragged.layout<"dr">>, tensor<?xi32>
}
