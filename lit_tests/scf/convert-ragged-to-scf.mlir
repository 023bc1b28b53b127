// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize --cse | FileCheck %s

#rd = #ragged.layout<"dr|d">
#rr = #ragged.layout<"drr">

// A ragged argument becomes values and offsets; a batch loop becomes a forall over slices.
// CHECK-LABEL: func.func @reduce
// CHECK-SAME: (%[[V:.*]]: tensor<?x8xf32>, %[[O:.*]]: tensor<?xi64>, %[[INIT:.*]]: tensor<?x8xf32>) -> tensor<?x8xf32>
func.func @reduce(%x: tensor<?x?x8xf32, #rd>, %init: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: %[[N:.*]] = tensor.dim %[[O]]
  // CHECK: %[[B:.*]] = arith.subi %[[N]]
  // CHECK: scf.forall (%[[I:.*]]) in (%[[B]]) shared_outs(%[[OUT:.*]] = %[[INIT]])
  // CHECK:   %[[E:.*]] = tensor.extract %[[O]][%[[I]]]
  // CHECK:   %[[LO:.*]] = arith.index_cast %[[E]]
  // CHECK:   %[[LEN:.*]] = arith.subi %{{.*}}, %[[LO]]
  // CHECK:   tensor.extract_slice %[[V]][%[[LO]], 0] [%[[LEN]], 8] [1, 1]
  // CHECK:   linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]
  // CHECK:   scf.forall.in_parallel
  // CHECK:     tensor.parallel_insert_slice %{{.*}} into %[[OUT]][%[[I]], 0] [1, 8] [1, 1]
  %y = linalg.reduce { arith.addf } ins(%x : tensor<?x?x8xf32, #rd>) outs(%init : tensor<?x8xf32>) dimensions = [1]
  return %y : tensor<?x8xf32>
}

// What needs no component index runs on the flat values.
// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %[[OUTER:.*]]: tensor<?xi64>, %[[INNER:.*]]: tensor<?xi64>)
// CHECK-NEXT: %[[Y:.*]] = math.exp %[[X]] : tensor<?xf32>
// CHECK-NEXT: return %[[Y]], %[[OUTER]], %[[INNER]]
func.func @elementwise(%x: tensor<?x?x?xf32, #rr>) -> tensor<?x?x?xf32, #rr> {
  %y = math.exp %x : tensor<?x?x?xf32, #rr>
  return %y : tensor<?x?x?xf32, #rr>
}

// Loops that all operands nest alike collapse: one forall over the leaves, no loop over the parents.
// CHECK-LABEL: func.func @leaves
// CHECK: scf.forall (%{{.*}}) in (%{{.*}})
// CHECK-NOT: scf.for %
// CHECK: return
func.func @leaves(%x: tensor<?x?x?xf32, #rr>, %init: tensor<?x?xf32, #ragged.layout<"dr">>)
    -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %y = linalg.reduce { arith.addf } ins(%x : tensor<?x?x?xf32, #rr>) outs(%init : tensor<?x?xf32, #ragged.layout<"dr">>)
       dimensions = [2]
  return %y : tensor<?x?xf32, #ragged.layout<"dr">>
}

// Ops over the same components share one forall.
// CHECK-LABEL: func.func @softmax
// CHECK-COUNT-1: scf.forall (
// CHECK-NOT: scf.forall (
// CHECK: return
func.func @softmax(%x: tensor<?x?x8xf32, #rd>, %e: tensor<?x?x8xf32, #rd>) -> tensor<?x?x8xf32, #rd> {
  %y = linalg.softmax dimension(1) ins(%x : tensor<?x?x8xf32, #rd>) outs(%e : tensor<?x?x8xf32, #rd>) -> tensor<?x?x8xf32, #rd>
  return %y : tensor<?x?x8xf32, #rd>
}

// Structure ops move offsets, not values.
// CHECK-LABEL: func.func @merge
// CHECK-SAME: (%[[V:.*]]: tensor<?x8xf32>, %{{.*}}: tensor<?xi64>)
// CHECK-NEXT: return %[[V]]
func.func @merge(%x: tensor<?x?x8xf32, #rd>) -> tensor<?x8xf32> {
  %y = ragged.merge %x {dim = 0} : (tensor<?x?x8xf32, #rd>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}


// A dense value that comes from a forall which a check has closed.
// CHECK-LABEL: func.func @after_close
// CHECK: %[[F:.*]] = scf.forall (
// CHECK: ragged.assert_valid
// CHECK: return %[[F]]
func.func @after_close(%x: tensor<?x?x2xf32, #rd>, %row: tensor<?x2xf32>, %n: index) -> tensor<?x2xf32> {
  %e = ragged.empty %x : (tensor<?x?x2xf32, #rd>) -> tensor<?x?x2xf32, #rd>
  %y = linalg.generic {
    indexing_maps = [affine_map<(b, i, k) -> (b, i, k)>, affine_map<(b, i, k) -> (b, k)>, affine_map<(b, i, k) -> (b, i, k)>],
    iterator_types = ["parallel", "parallel", "parallel"]
  } ins(%x, %row : tensor<?x?x2xf32, #rd>, tensor<?x2xf32>) outs(%e : tensor<?x?x2xf32, #rd>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<?x?x2xf32, #rd>
  ragged.assert_valid %n, %n {kind = "equal", level = 0, op = "f"} : (index, index) -> ()
  %m = ragged.merge %y {dim = 0} : (tensor<?x?x2xf32, #rd>) -> tensor<?x2xf32>
  return %m : tensor<?x2xf32>
}

// A guard becomes one for every part that is read.
// CHECK-LABEL: func.func @guard
// CHECK-SAME: (%[[V:[a-z0-9]+]]: tensor<?x2xf32>, %[[O:[a-z0-9]+]]: tensor<?xi64>, %[[I:[a-z0-9]+]]: index)
// CHECK-DAG: %[[GV:.*]] = ragged.guard %[[V]]
// CHECK-DAG: %[[GO:.*]] = ragged.guard %[[O]]
// CHECK-DAG: %[[GI:.*]] = ragged.guard %[[I]]
// CHECK: tensor.extract %[[GO]][%[[GI]]]
// CHECK: tensor.extract_slice %[[GV]]
func.func @guard(%x: tensor<?x?x2xf32, #rd>, %i: index) -> tensor<?x2xf32> {
  %0 = ragged.guard %x : (tensor<?x?x2xf32, #rd>) -> tensor<?x?x2xf32, #rd>
  %1 = ragged.guard %i : (index) -> index
  %2 = ragged.select %0, %1 {dim = 0} : (tensor<?x?x2xf32, #rd>, index) -> tensor<?x2xf32>
  return %2 : tensor<?x2xf32>
}

// What is folded over lists of lists is one list of each component: no loop over the lists.
// CHECK-LABEL: func.func @all_below
// CHECK: scf.forall
// CHECK-NOT: scf.for %
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]}
// CHECK-NOT: scf.for %
// CHECK: return
func.func @all_below(%x: tensor<?x?x?xf32, #ragged.layout<"drr">>, %init: tensor<?xf32>) -> tensor<?xf32> {
  %y = linalg.reduce { arith.addf } ins(%x : tensor<?x?x?xf32, #ragged.layout<"drr">>) outs(%init : tensor<?xf32>) dimensions = [1, 2]
  return %y : tensor<?xf32>
}
