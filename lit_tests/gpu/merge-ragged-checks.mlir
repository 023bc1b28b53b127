// RUN: ragged-opt %s --merge-ragged-checks | FileCheck %s

// Foralls that do nothing but write the status become one where nothing on the device runs between them: what the
// second one does, it does when the first has not failed. One that writes something else stays.
// CHECK-LABEL: func.func @neighbours
// CHECK-SAME: %[[B:.*]]: memref<?xi64>, %[[STATUS:.*]]: memref<5xi64>)
// CHECK: memref.dim
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK:   memref.store %c1{{.*}}, %[[STATUS]]
// CHECK:   %[[FIRST:.*]] = memref.load %[[STATUS]]
// CHECK:   %[[GOOD:.*]] = arith.cmpi eq, %[[FIRST]]
// CHECK:   scf.if %[[GOOD]] {
// CHECK:     memref.store %c2{{.*}}, %[[STATUS]]
// CHECK: } {ragged.mapping = {threads = 1 : i64}}
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK:   memref.store %c1{{.*}}, %[[STATUS]]
// CHECK:   memref.store %c1{{.*}}, %[[B]]
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK:   memref.store %c2{{.*}}, %[[STATUS]]
// CHECK-NOT: scf.if
module attributes {ragged.checks = [["divides", "ragged.split", 1]]} {
func.func @neighbours(%b: memref<?xi64>, %status: memref<5xi64>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  scf.forall (%i) in (1) {
    memref.store %one, %status[%c0] : memref<5xi64>
  } {ragged.mapping = {threads = 1 : i64}}
  %n = memref.dim %b, %c0 : memref<?xi64>
  scf.forall (%i) in (1) {
    memref.store %two, %status[%c0] : memref<5xi64>
  } {ragged.mapping = {threads = 1 : i64}}
  scf.forall (%i) in (1) {
    memref.store %one, %status[%c0] : memref<5xi64>
    memref.store %one, %b[%c0] : memref<?xi64>
  }
  scf.forall (%i) in (1) {
    memref.store %two, %status[%c0] : memref<5xi64>
  }
  return
}
}
