// RUN: ragged-opt %s --vectorize-ragged-loops="isa=sse" --canonicalize | FileCheck %s

// Where nothing can be masked, the loop goes on after the last whole vector.

// CHECK-LABEL: func.func @sum
// CHECK-SAME: (%[[X:.*]]: memref<?xf32>, %[[N:.*]]: index, %[[FIRST:.*]]: f32)
// CHECK: %[[SOME:.*]] = arith.maxsi %[[N]], %c0
// CHECK: %[[END:.*]] = arith.andi %[[SOME]], %c-16
// CHECK: %[[LANES:.*]] = scf.for %{{.*}} = %c0 to %[[END]] step %c16
// CHECK: vector.load
// CHECK: arith.addf %{{.*}} : vector<8xf32>
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[FIRST]] fastmath<reassoc> : f32
// CHECK: scf.for %{{.*}} = %[[END]] to %[[N]] step %c1 iter_args(%{{.*}} = %[[SUM]]) -> (f32)
// CHECK: memref.load
func.func @sum(%x: memref<?xf32>, %n: index, %first: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = scf.for %i = %c0 to %n step %c1 iter_args(%b = %first) -> (f32) {
    %a = memref.load %x[%i] : memref<?xf32>
    %s = arith.addf %a, %b fastmath<reassoc> : f32
    scf.yield %s : f32
  }
  return %m : f32
}
