// RUN: ragged-opt %s --ragged-overlap | FileCheck %s

// Both ways of two chunks: the second one travels while the first one is computed with, and the first one back meanwhile.
// CHECK-LABEL: func.func @chunks
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32>, %[[Y:.*]]: tensor<?x8xf32>)
// CHECK-NEXT: %[[T0:.*]] = ragged.all_to_all_start %[[X]]
// CHECK-NEXT: %[[T1:.*]] = ragged.all_to_all_start %[[Y]]
// CHECK-NEXT: %[[A:.*]] = ragged.all_to_all_wait %[[X]], %[[T0]]
// CHECK-NEXT: %[[B:.*]] = linalg.exp ins(%[[A]]
// CHECK-NEXT: %[[T2:.*]] = ragged.all_to_all_start %[[B]]
// CHECK-NEXT: %[[C:.*]] = ragged.all_to_all_wait %[[Y]], %[[T1]]
// CHECK-NEXT: %[[D:.*]] = linalg.exp ins(%[[C]]
// CHECK-NEXT: %[[T3:.*]] = ragged.all_to_all_start %[[D]]
// CHECK-NEXT: %[[E:.*]] = ragged.all_to_all_wait %[[B]], %[[T2]]
// CHECK-NEXT: %[[F:.*]] = ragged.all_to_all_wait %[[D]], %[[T3]]
// CHECK-NEXT: return %[[E]], %[[F]]
func.func @chunks(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = ragged.all_to_all %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = ragged.all_to_all %y : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %a = linalg.exp ins(%0 : tensor<?x8xf32>) outs(%0 : tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = ragged.all_to_all %a : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %b = linalg.exp ins(%1 : tensor<?x8xf32>) outs(%1 : tensor<?x8xf32>) -> tensor<?x8xf32>
  %3 = ragged.all_to_all %b : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %2, %3 : tensor<?x8xf32>, tensor<?x8xf32>
}

// What is needed at once is waited for at once.
// CHECK-LABEL: func.func @one
// CHECK-NOT: all_to_all_start
// CHECK: ragged.all_to_all %
// CHECK-NEXT: linalg.exp
func.func @one(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = ragged.all_to_all %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %a = linalg.exp ins(%0 : tensor<?x8xf32>) outs(%0 : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %a : tensor<?x8xf32>
}

// A check of what came stays where it is, and so does the wait; nothing begins before a check that was before it.
// CHECK-LABEL: func.func @checks
// CHECK: ragged.all_to_all_start
// CHECK: linalg.exp
// CHECK: ragged.all_to_all_wait
// CHECK: ragged.assert_valid {{.*}} {kind = "offsets"
// CHECK: ragged.all_to_all
func.func @checks(%x: tensor<?xi64>, %y: tensor<?x8xf32>, %n: index) -> (tensor<?x8xf32>, tensor<?xi64>) {
  %0 = ragged.all_to_all %x : (tensor<?xi64>) -> tensor<?xi64>
  %a = linalg.exp ins(%y : tensor<?x8xf32>) outs(%y : tensor<?x8xf32>) -> tensor<?x8xf32>
  ragged.assert_valid %0, %n {kind = "offsets", op = "f", level = 0} : (tensor<?xi64>, index) -> ()
  %1 = ragged.all_to_all %y : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %b = linalg.add ins(%a, %1 : tensor<?x8xf32>, tensor<?x8xf32>) outs(%y : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %b, %0 : tensor<?x8xf32>, tensor<?xi64>
}

// Needed in a branch: before it.
// CHECK-LABEL: func.func @branch
// CHECK: ragged.all_to_all_start
// CHECK: linalg.exp
// CHECK: ragged.all_to_all_wait
// CHECK-NEXT: scf.if
func.func @branch(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>, %b: i1) -> tensor<?x8xf32> {
  %0 = ragged.all_to_all %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %a = linalg.exp ins(%y : tensor<?x8xf32>) outs(%y : tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = scf.if %b -> tensor<?x8xf32> {
    scf.yield %0 : tensor<?x8xf32>
  } else {
    scf.yield %a : tensor<?x8xf32>
  }
  return %r : tensor<?x8xf32>
}
