// RUN: ragged-opt %s --sequence-ragged-scans --canonicalize | FileCheck %s

#L = #ragged.layout<"dr|d">
#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// One pass has what was folded so far for every component and feature.

// CHECK-LABEL: func.func @running
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x8xf32, #{{.*}}>, %{{.*}}: index)
// CHECK-NOT: scf.for
// CHECK: %[[ZERO:.*]] = arith.constant -0.000000e+00 : f32
// CHECK: %[[COUNT:.*]] = tensor.dim %[[X]], %c0
// CHECK: tensor.empty(%[[COUNT]]) : tensor<?x8xf32>
// CHECK: %[[SUMS:.*]] = linalg.fill ins(%[[ZERO]]
// CHECK: %[[OUT:.*]] = ragged.empty %[[X]]
// CHECK: %[[Y:.*]]:2 = linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[X]] {{.*}} outs(%[[SUMS]], %[[OUT]]
// CHECK: ^bb0(%[[A:.*]]: f32, %[[SUM:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[S:.*]] = arith.addf %[[SUM]], %[[A]] : f32
// CHECK: linalg.yield %[[S]], %[[S]]
// CHECK: return %[[Y]]#1
func.func @running(%x: tensor<?x?x8xf32, #L>, %passes: index) -> tensor<?x?x8xf32, #L> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %k = %c0 to %passes step %c1 iter_args(%z = %x) -> (tensor<?x?x8xf32, #L>) {
    %far = arith.shli %c1, %k : index
    %e = ragged.empty %x {from = [[0, 0], [0, 1], -1]} : (tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L>
    %next = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%z : tensor<?x?x8xf32, #L>) outs(%e : tensor<?x?x8xf32, #L>) {
    ^bb0(%a: f32, %o: f32):
      %b = linalg.index 0 : index
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %there = arith.cmpi sge, %i, %far : index
      %before = arith.subi %i, %far : index
      %at = arith.select %there, %before, %i : index
      %p = tensor.extract %z[%b, %at, %j] : tensor<?x?x8xf32, #L>
      %s = arith.addf %p, %a : f32
      %r = arith.select %there, %s, %a : f32
      linalg.yield %r : f32
    } -> tensor<?x?x8xf32, #L>
    scf.yield %next : tensor<?x?x8xf32, #L>
  } {ragged.running}
  return %y : tensor<?x?x8xf32, #L>
}

// What is behind each element is folded from the end.

// CHECK-LABEL: func.func @backwards
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x8xf32, #{{.*}}>, %{{.*}}: tensor<?xi64>, %{{.*}}: index)
// CHECK-NOT: scf.for
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[X]] {{.*}} attrs = {{ *[{]}}ragged.backwards = 1 : i64
func.func @backwards(%x: tensor<?x?x8xf32, #L>, %n: tensor<?xi64>, %passes: index) -> tensor<?x?x8xf32, #L> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %k = %c0 to %passes step %c1 iter_args(%z = %x) -> (tensor<?x?x8xf32, #L>) {
    %far = arith.shli %c1, %k : index
    %e = ragged.empty %x {from = [[0, 0], [0, 1], -1]} : (tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L>
    %next = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%z : tensor<?x?x8xf32, #L>) outs(%e : tensor<?x?x8xf32, #L>) {
    ^bb0(%a: f32, %o: f32):
      %b = linalg.index 0 : index
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %behind = arith.addi %i, %far : index
      %length = tensor.extract %n[%b] : tensor<?xi64>
      %end = arith.index_cast %length : i64 to index
      %there = arith.cmpi slt, %behind, %end : index
      %at = arith.select %there, %behind, %i : index
      %p = tensor.extract %z[%b, %at, %j] : tensor<?x?x8xf32, #L>
      %s = arith.addf %p, %a : f32
      %r = arith.select %there, %s, %a : f32
      linalg.yield %r : f32
    } -> tensor<?x?x8xf32, #L>
    scf.yield %next : tensor<?x?x8xf32, #L>
  } {ragged.running}
  return %y : tensor<?x?x8xf32, #L>
}

// A body that does something else stays.

// CHECK-LABEL: func.func @other
// CHECK: scf.for
// CHECK: ragged.running
func.func @other(%x: tensor<?x?x8xf32, #L>, %passes: index) -> tensor<?x?x8xf32, #L> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %k = %c0 to %passes step %c1 iter_args(%z = %x) -> (tensor<?x?x8xf32, #L>) {
    %e = ragged.empty %x {from = [[0, 0], [0, 1], -1]} : (tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L>
    %next = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%z : tensor<?x?x8xf32, #L>) outs(%e : tensor<?x?x8xf32, #L>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %a : f32
      linalg.yield %s : f32
    } -> tensor<?x?x8xf32, #L>
    scf.yield %next : tensor<?x?x8xf32, #L>
  } {ragged.running}
  return %y : tensor<?x?x8xf32, #L>
}
