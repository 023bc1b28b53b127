// RUN: ragged-opt %s --convert-ragged-selects-to-scf | FileCheck %s

// Two tensors of any sizes: a choice, not a loop over the extent of the first.
// CHECK-LABEL: func.func @whole
// CHECK-SAME: (%[[C:.*]]: i1, %[[A:.*]]: tensor<?xf32>, %[[B:.*]]: tensor<?xf32>)
// CHECK-NEXT: %[[R:.*]] = scf.if %[[C]] -> (tensor<?xf32>) {
// CHECK-NEXT:   scf.yield %[[A]] : tensor<?xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT:   scf.yield %[[B]] : tensor<?xf32>
// CHECK-NEXT: }
// CHECK-NEXT: return %[[R]]
func.func @whole(%c: i1, %a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.select %c, %a, %b : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// Element by element, and of scalars, it stays.
// CHECK-LABEL: func.func @elements
// CHECK-NOT: scf.if
// CHECK-COUNT-2: arith.select
// CHECK-NOT: scf.if
// CHECK: return
func.func @elements(%c: tensor<?xi1>, %a: tensor<?xf32>, %d: i1, %n: index) -> (tensor<?xf32>, index) {
  %0 = arith.select %c, %a, %a : tensor<?xi1>, tensor<?xf32>
  %zero = arith.constant 0 : index
  %1 = arith.select %d, %n, %zero : index
  return %0, %1 : tensor<?xf32>, index
}
