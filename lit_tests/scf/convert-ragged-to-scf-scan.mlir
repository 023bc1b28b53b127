// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize --cse | FileCheck %s

// One pass over each component has what was combined so far, and stores it.
// CHECK-LABEL: func.func @forward
// CHECK: %[[ZERO:.*]] = arith.constant -0.000000e+00 : f32
// CHECK: scf.forall (%[[B:.*]]) in (3)
// CHECK: linalg.fill ins(%[[ZERO]]
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]}
// CHECK: ^bb0(%[[A:.*]]: f32, %[[SUM:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[SUM]], %[[A]] fastmath<reassoc> : f32
// CHECK-NEXT: linalg.yield %[[S]], %[[S]]
func.func @forward(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">> {
  %0 = ragged.scan %x {dim = 1, kind = "sum"} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
}

// From the other end it is a loop whose index counts down.
// CHECK-LABEL: func.func @backwards
// CHECK: scf.forall
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[N:.*]] step
// CHECK: %[[LEFT:.*]] = arith.subi %[[N]], %[[I]]
// CHECK: arith.subi %[[LEFT]], %{{.*}} : index
// CHECK: arith.maxsi
func.func @backwards(%x: tensor<?x?xi32, #ragged.layout<"dr">>) -> tensor<?x?xi32, #ragged.layout<"dr">> {
  %0 = ragged.scan %x {dim = 1, kind = "max", reverse} : (tensor<?x?xi32, #ragged.layout<"dr">>) -> tensor<?x?xi32, #ragged.layout<"dr">>
  return %0 : tensor<?x?xi32, #ragged.layout<"dr">>
}

// Dense dims too.
// CHECK-LABEL: func.func @dense
// CHECK: scf.for
// CHECK: arith.andi
func.func @dense(%x: tensor<?x4xi1>) -> tensor<?x4xi1> {
  %0 = ragged.scan %x {dim = 0, kind = "min", reverse} : (tensor<?x4xi1>) -> tensor<?x4xi1>
  return %0 : tensor<?x4xi1>
}
