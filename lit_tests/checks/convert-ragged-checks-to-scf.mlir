// RUN: ragged-opt %s --allow-unregistered-dialect --convert-ragged-checks-to-scf | FileCheck %s

// CHECK: module attributes {ragged.checks = {{\[}}["index", "ragged.select", 0], ["conform", "arith.addf", 1], ["conform", "arith.addf", 1], ["index", "ragged.select", 0], ["holds", "cf.assert: text", 0], ["index", "ragged.select", 0], ["index", "ragged.select", 0]{{\]}}}

// What follows a check runs when it holds; else the status is returned with empty results.
// CHECK-LABEL: func.func @index
// CHECK-SAME: (%[[I:.*]]: index, %[[N:.*]]: index) -> (i64, i64, i64, i64, i64, tensor<?xf32>)
func.func @index(%i: index, %n: index) -> tensor<?xf32> {
  // CHECK: %[[STATUS:.*]] = arith.select %{{.*}} : i64
  // CHECK: %[[OK:.*]] = arith.cmpi eq, %[[STATUS]]
  // CHECK: %[[R:.*]]:6 = scf.if %[[OK]] -> (i64, i64, i64, i64, i64, tensor<?xf32>)
  // CHECK:   "test.make"
  // CHECK: } else {
  // CHECK:   tensor.empty
  // CHECK:   scf.yield %[[STATUS]]
  // CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2, %[[R]]#3, %[[R]]#4, %[[R]]#5
  ragged.assert_valid %i, %n {kind = "index", op = "ragged.select", level = 0} : (index, index) -> ()
  %x = "test.make"() : () -> tensor<?xf32>
  return %x : tensor<?xf32>
}

// In a loop the status is carried, and the body runs while it is good.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (i64, i64, i64, i64, i64)
// CHECK:   scf.if
func.func @loop(%a: tensor<?xi64>, %b: tensor<?xi64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    ragged.assert_valid %a, %b {kind = "conform", op = "arith.addf", level = 1} : (tensor<?xi64>, tensor<?xi64>) -> ()
    "test.use"(%i) : (index) -> ()
  }
  return
}

// The caller of a function with checks has its status.
// CHECK-LABEL: func.func @caller
// CHECK: %[[C:.*]]:6 = call @index
// CHECK: arith.cmpi eq, %[[C]]#0
func.func @caller(%i: index, %n: index) -> tensor<?xf32> {
  %x = call @index(%i, %n) : (index, index) -> tensor<?xf32>
  return %x : tensor<?xf32>
}

// CHECK-LABEL: func.func @none() -> i32
func.func @none() -> i32 {
  %c = arith.constant 1 : i32
  return %c : i32
}

// In a while loop too: what is before the condition runs while the status is good, and the condition
// is false after a failure.
// CHECK-LABEL: func.func @while
// CHECK: %[[W:.*]]:6 = scf.while (%[[S:.*]] = %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:   %[[GOOD:.*]] = arith.cmpi eq, %[[S]]
// CHECK:   %[[R:.*]]:7 = scf.if %[[GOOD]] -> (i64, i64, i64, i64, i64, i1, index)
// CHECK:     "test.continue"
// CHECK:   scf.condition(%[[R]]#5) %[[R]]#0, %[[R]]#1, %[[R]]#2, %[[R]]#3, %[[R]]#4, %[[R]]#6
// CHECK: } do {
// CHECK:   scf.if
// CHECK:     "test.next"
// CHECK: scf.if
// CHECK: return
func.func @while(%a: tensor<?xi64>, %b: tensor<?xi64>, %n: index) -> index {
  %0 = scf.while (%i = %n) : (index) -> index {
    %c = "test.continue"(%i) : (index) -> i1
    scf.condition(%c) %i : index
  } do {
  ^bb0(%i: index):
    ragged.assert_valid %a, %b {kind = "conform", op = "arith.addf", level = 1} : (tensor<?xi64>, tensor<?xi64>) -> ()
    %j = "test.next"(%i) : (index) -> index
    scf.yield %j : index
  }
  return %0 : index
}

// What a guard held back is behind the check now.
// CHECK-LABEL: func.func @guard
// CHECK-NOT: ragged.guard
// CHECK: scf.if
// CHECK:   "test.use"(%arg0)
func.func @guard(%i: index, %n: index) {
  ragged.assert_valid %i, %n {kind = "index", op = "ragged.select", level = 0} : (index, index) -> ()
  %0 = ragged.guard %i : (index) -> index
  "test.use"(%0) : (index) -> ()
  return
}

// An assert that the program has of its own is a check.
// CHECK-LABEL: func.func @assert
// CHECK-SAME: (%[[C:.*]]: i1) -> (i64, i64, i64, i64, i64)
// CHECK-NOT: cf.assert
// CHECK: arith.index_castui %[[C]]
// CHECK: return
func.func @assert(%c: i1) {
  cf.assert %c, "text"
  return
}

// There is no zero of what is no number.
// CHECK-LABEL: func.func @complex
// CHECK: scf.if
// CHECK: } else {
// CHECK: ub.poison : complex<f32>
func.func @complex(%i: index, %n: index, %x: complex<f32>) -> complex<f32> {
  ragged.assert_valid %i, %n {kind = "index", op = "ragged.select", level = 0} : (index, index) -> ()
  %y = complex.add %x, %x : complex<f32>
  return %y : complex<f32>
}

// What a result is before a check is that after it, whatever the check says: nothing of it goes through branches.
// CHECK-LABEL: func.func @before
// CHECK: %[[BEFORE:.*]] = "test.op"
// CHECK: scf.if %{{.*}} -> (i64, i64, i64, i64, i64, f32) {
// CHECK: return %{{.*}}, %[[BEFORE]], %{{.*}}#5
func.func @before(%i: index, %n: index) -> (tensor<?xf32>, f32) {
  %x = "test.op"() : () -> tensor<?xf32>
  ragged.assert_valid %i, %n {kind = "index", op = "ragged.select", level = 0} : (index, index) -> ()
  %y = "test.op"() : () -> f32
  return %x, %y : tensor<?xf32>, f32
}
