// RUN: ragged-opt %s --expand-ragged-scans | FileCheck %s
// RUN: ragged-opt %s --expand-ragged-scans=tile=128 | FileCheck %s --check-prefix=TILES
// RUN: ragged-opt %s --expand-ragged-scans --ragged-fuse | FileCheck %s --check-prefix=FUSED

#L = #ragged.layout<"dr|d">

// What a component has so far is a result for every row.
// CHECK-LABEL: func.func @forward
// CHECK-NOT: ragged.scan
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<?x8xf32>)
// CHECK: %[[Y:.*]]:2 = linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK: ^bb0(%[[A:.*]]: f32, %[[SO_FAR:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[S:.*]] = arith.addf %[[SO_FAR]], %[[A]] fastmath<reassoc> : f32
// CHECK: linalg.yield %[[S]], %[[S]]
// CHECK: return %[[Y]]#1
func.func @forward(%x: tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L> {
  %y = ragged.scan %x {dim = 1, kind = "sum"} : (tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L>
  return %y : tensor<?x?x8xf32, #L>
}

// What a scan is of is computed in its loop, which still goes backwards.
// FUSED-LABEL: func.func @backwards
// FUSED-NOT: arith.extsi {{.*}} tensor
// FUSED: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x?xi32, #{{.*}}>) {{.*}} attrs = {{ *[{]}}ragged.backwards = 1 : i64}
// FUSED: arith.extsi %{{.*}} : i32 to i64
// FUSED: arith.addi
func.func @backwards(%x: tensor<?x?xi32, #ragged.layout<"dr">>) -> tensor<?x?xi64, #ragged.layout<"dr">> {
  %w = arith.extsi %x : tensor<?x?xi32, #ragged.layout<"dr">> to tensor<?x?xi64, #ragged.layout<"dr">>
  %y = ragged.scan %w {dim = 1, kind = "sum", reverse} : (tensor<?x?xi64, #ragged.layout<"dr">>) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return %y : tensor<?x?xi64, #ragged.layout<"dr">>
}

// A scan has an order, and joins no other loop: not one that goes the other way, and no sum.
// FUSED-LABEL: func.func @apart
// FUSED: linalg.generic {{.*}} attrs = {{ *[{]}}ragged.backwards
// FUSED: linalg.generic
// FUSED-NOT: ragged.backwards
// FUSED: linalg.reduce
func.func @apart(%x: tensor<?x?x8xf32, #L>, %zero: tensor<?x8xf32>)
    -> (tensor<?x?x8xf32, #L>, tensor<?x?x8xf32, #L>, tensor<?x8xf32>) {
  %y = ragged.scan %x {dim = 1, kind = "sum", reverse} : (tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L>
  %z = ragged.scan %x {dim = 1, kind = "sum"} : (tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<?x?x8xf32, #L>) outs(%zero : tensor<?x8xf32>) dimensions = [1]
  return %y, %z, %s : tensor<?x?x8xf32, #L>, tensor<?x?x8xf32, #L>, tensor<?x8xf32>
}

// How the loops of a scan are to be mapped is how those of its op are, which fuses with nothing.
// FUSED-LABEL: func.func @mapped
// FUSED: arith.extsi %{{.*}} : tensor<?x?xi32
// FUSED: linalg.generic {{.*}} attrs = {{ *[{]}}ragged.mapping = {threads = 64 : i64}}
func.func @mapped(%x: tensor<?x?xi32, #ragged.layout<"dr">>) -> tensor<?x?xi64, #ragged.layout<"dr">> {
  %w = arith.extsi %x : tensor<?x?xi32, #ragged.layout<"dr">> to tensor<?x?xi64, #ragged.layout<"dr">>
  %y = ragged.scan %w {dim = 1 : i64, kind = "sum", ragged.mapping = {threads = 64 : i64}} : (tensor<?x?xi64, #ragged.layout<"dr">>) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return %y : tensor<?x?xi64, #ragged.layout<"dr">>
}

// In tiles every one starts from what those before it in its component come to; of other dims scans stay.
// TILES-LABEL: func.func @last_of_two
// TILES: %[[INNER:.*]] = ragged.offsets %[[X:.*]] {level = 2}
// TILES: %[[VALUES:.*]] = ragged.values %[[X]]
// TILES: %[[FIRST:.*]] = linalg.generic
// TILES: %[[STARTS:.*]] = linalg.generic
// TILES: scf.while
// TILES: %[[T:.*]] = ragged.partition %[[VALUES]], %[[STARTS]] {dim = 0}
// TILES: %[[SUMS:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[T]] :
// TILES: %[[OWN:.*]] = ragged.partition %[[SUMS]], %[[FIRST]] {dim = 0}
// TILES: %[[BEFORE:.*]]:2 = linalg.generic {{.*}} ins(%[[OWN]] : {{.*}} attrs = {{ *[{]}}ragged.backwards = 1 : i64}
// TILES: ^bb0(%[[A:.*]]: f32, %[[SO_FAR:.*]]: f32, %{{.*}}: f32):
// TILES: %[[S:.*]] = arith.addf %[[SO_FAR]], %[[A]] : f32
// TILES: linalg.yield %[[S]], %[[SO_FAR]]
// TILES: %[[FROM:.*]] = ragged.values %[[BEFORE]]#1
// TILES: linalg.generic {{.*}} ins(%[[T]] : {{.*}} outs(%[[FROM]], %{{.*}} : {{.*}} attrs = {{ *[{]}}ragged.backwards = 1 : i64}
// TILES: ragged.assemble
// TILES-NOT: ragged.scan
func.func @last_of_two(%x: tensor<?x?x?xf32, #ragged.layout<"drr">>) -> tensor<?x?x?xf32, #ragged.layout<"drr">> {
  %y = ragged.scan %x {dim = 2, kind = "sum", reverse} : (tensor<?x?x?xf32, #ragged.layout<"drr">>) -> tensor<?x?x?xf32, #ragged.layout<"drr">>
  return %y : tensor<?x?x?xf32, #ragged.layout<"drr">>
}

// TILES-LABEL: func.func @features
// TILES: ragged.scan
func.func @features(%x: tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L> {
  %y = ragged.scan %x {dim = 2, kind = "sum"} : (tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L>
  return %y : tensor<?x?x8xf32, #L>
}

// One without each element itself stores what it has before, of tiles too.

// CHECK-LABEL: func.func @without_itself
// CHECK: ^bb0(%[[A:.*]]: f32, %[[SO_FAR:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[S:.*]] = arith.mulf %[[SO_FAR]], %[[A]] : f32
// CHECK: linalg.yield %[[S]], %[[SO_FAR]]
// TILES-LABEL: func.func @without_itself
// TILES: ragged.partition
// TILES: linalg.yield %{{.*}}, %[[BEFORE:.*]] : f32, f32
// TILES: ^bb0(%[[A:.*]]: f32, %[[SO_FAR:.*]]: f32, %{{.*}}: f32):
// TILES: linalg.yield %{{.*}}, %[[SO_FAR]] : f32, f32
func.func @without_itself(%x: tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %y = ragged.scan %x {dim = 1, kind = "prod", exclusive} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %y : tensor<?x?xf32, #ragged.layout<"dr">>
}

// A recurrence stores what it has before an element, on every target in one pass; what becomes of that joins its loop.

// CHECK-LABEL: func.func @recurrence
// CHECK: %[[Y:.*]]:2 = linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%{{.*}}, %{{.*}} :
// CHECK: ^bb0(%[[X:.*]]: f32, %[[A:.*]]: f32, %[[BEFORE:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[FORGETS:.*]] = arith.cmpf oeq, %[[A]], %{{.*}} : f32
// CHECK: %[[P:.*]] = arith.mulf %[[A]], %[[BEFORE]] : f32
// CHECK: %[[S:.*]] = arith.addf %[[P]], %[[X]] : f32
// CHECK: %[[NEXT:.*]] = arith.select %[[FORGETS]], %[[X]], %[[S]]
// CHECK: linalg.yield %[[NEXT]], %[[BEFORE]]
// CHECK: return %[[Y]]#1
// TILES-LABEL: func.func @recurrence
// TILES-COUNT-1: linalg.generic
// TILES-NOT: linalg.generic
// TILES: return
func.func @recurrence(%x: tensor<?x?x8xf32, #L>, %a: tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L> {
  %y = ragged.recurrence %x, %a {dim = 1} : (tensor<?x?x8xf32, #L>, tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L>
  return %y : tensor<?x?x8xf32, #L>
}
