// RUN: ragged-opt --pass-pipeline='builtin.module(convert-ragged-to-scf{recompute=true},canonicalize,cse)' %s | FileCheck %s

// The sum and the quotient compute an exponential each; no tensor of exponentials is made.

#rd = #ragged.layout<"dr|d">

// CHECK-LABEL: func.func @softmax
// CHECK-SAME: (%[[X:[^:]*]]: tensor<?x8xf32>
// CHECK: scf.forall (
// CHECK: %[[ROWS:[^ ]*]] = tensor.extract_slice %[[X]][
// CHECK: %[[TOP:[^ ]*]] = linalg.generic {{.*}} ins(%[[ROWS]] :
// CHECK: linalg.generic {{.*}} ins(%[[ROWS]], %[[TOP]] :
// CHECK: math.exp
// CHECK-NEXT: arith.addf
// CHECK: arith.divf
// CHECK: linalg.generic {{.*}} ins(%[[ROWS]], %[[TOP]], %
// CHECK: math.exp
// CHECK-NEXT: arith.mulf
// CHECK: scf.forall.in_parallel
// CHECK-COUNT-1: parallel_insert_slice
// CHECK: return
func.func @softmax(%x: tensor<?x?x8xf32, #rd>) -> tensor<?x?x8xf32, #rd> {
  %e = ragged.empty %x : (tensor<?x?x8xf32, #rd>) -> tensor<?x?x8xf32, #rd>
  %y = linalg.softmax dimension(1) ins(%x : tensor<?x?x8xf32, #rd>) outs(%e : tensor<?x?x8xf32, #rd>) -> tensor<?x?x8xf32, #rd>
  return %y : tensor<?x?x8xf32, #rd>
}
