// RUN: ragged-opt %s --convert-ragged-checks-to-calls --canonicalize | FileCheck %s

// CHECK: module attributes {ragged.checks = {{\[}}["divides", "ragged.split", 1], ["index", "ragged.select", 0], ["divides", "ragged.split", 2], ["divides", "ragged.split", 2], ["index", "ragged.select", 0], ["holds", "cf.assert: text", 0]{{\]}}}
// CHECK: func.func private @ragged_report(i64, i64, i64, i64, i64)

// A number above 0 when the check fails, then case, component and two values. What follows does not
// wait. The same statement below is known then.
// CHECK-LABEL: func.func @twice
// CHECK-SAME: (%[[N:.*]]: index, %[[I:.*]]: index)
func.func @twice(%n: index, %i: index) -> index {
  // CHECK: %[[CASE:.*]] = arith.select %{{.*}}, %c0, %c-1 : index
  // CHECK: %[[FAILED:.*]] = arith.cmpi sge, %[[CASE]], %c0
  // CHECK: %[[NUMBER:.*]] = arith.extui %[[FAILED]] : i1 to i64
  // CHECK: %[[CODE:.*]] = arith.index_cast %[[CASE]] : index to i64
  // CHECK: %[[GOT:.*]] = arith.index_cast %[[N]] : index to i64
  // CHECK: call @ragged_report(%[[NUMBER]], %[[CODE]], %c-1_i64, %[[GOT]], %c2_i64)
  ragged.assert_valid %n {kind = "divides", op = "ragged.split", level = 1, factor = 2} : (index) -> ()
  // The second check counts as 2.
  // CHECK: %[[SECOND:.*]] = arith.select %{{.*}}, %c2_i64, %c0_i64 : i64
  // CHECK: call @ragged_report(%[[SECOND]],
  ragged.assert_valid %i, %n {kind = "index", op = "ragged.select", level = 0} : (index, index) -> ()
  // CHECK-NOT: call
  ragged.assert_valid %n {kind = "divides", op = "ragged.split", level = 1, factor = 2} : (index) -> ()
  // CHECK: return %[[N]]
  return %n : index
}

// What is checked in one branch is not known after it.
// CHECK-LABEL: func.func @branch
// CHECK: scf.if
// CHECK:   call @ragged_report
// CHECK: }
// CHECK: call @ragged_report
func.func @branch(%c: i1, %n: index) {
  scf.if %c {
    ragged.assert_valid %n {kind = "divides", op = "ragged.split", level = 2, factor = 2} : (index) -> ()
  }
  ragged.assert_valid %n {kind = "divides", op = "ragged.split", level = 2, factor = 2} : (index) -> ()
  return
}

// CHECK-LABEL: func.func @guard
// CHECK: call @ragged_report
// CHECK: return %arg0
func.func @guard(%i: index, %n: index) -> index {
  ragged.assert_valid %i, %n {kind = "index", op = "ragged.select", level = 0} : (index, index) -> ()
  %0 = ragged.guard %i : (index) -> index
  return %0 : index
}

// CHECK-LABEL: func.func @assert
// CHECK-NOT: cf.assert
// CHECK: call @ragged_report
func.func @assert(%c: i1) {
  cf.assert %c, "text"
  return
}
