// RUN: ragged-opt %s --vectorize-ragged-loops=isa=avx2 --canonicalize --cse | FileCheck %s

// Masked stores are costly: whole vectors have none, and what is left has a mask, a register at a time. Masked loads are not.

// CHECK-LABEL: func.func @stored
// CHECK-SAME: %[[N:[^:]*]]: index)
// CHECK: %[[END:.*]] = arith.andi %{{.*}}, %c-32
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c32
// CHECK: vector.load
// CHECK: vector.store
// CHECK: scf.for %{{.*}} = %[[END]] to %[[N]] step %c8
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
func.func @stored(%x: memref<?xf32> {llvm.noalias}, %y: memref<?xf32> {llvm.noalias}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %s = arith.mulf %a, %a : f32
    memref.store %s, %y[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func.func @summed
// CHECK: scf.for
// CHECK: vector.load
// CHECK: scf.if
// CHECK: vector.maskedload
// CHECK-NOT: vector.load
func.func @summed(%x: memref<?xf32>, %n: index, %first: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = scf.for %i = %c0 to %n step %c1 iter_args(%b = %first) -> (f32) {
    %a = memref.load %x[%i] : memref<?xf32>
    %s = arith.addf %a, %b fastmath<reassoc> : f32
    scf.yield %s : f32
  }
  return %m : f32
}

// -----

// What is looked up is read one by one: lanes that gather take as long.

// CHECK-LABEL: func.func @looked_up
// CHECK-NOT: vector.
// CHECK: memref.load %{{.*}} : memref<?xf32>
// CHECK: return
func.func @looked_up(%t: memref<?xf32> {llvm.noalias}, %ids: memref<?xindex> {llvm.noalias}, %n: index, %first: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%so_far = %first) -> (f32) {
    %at = memref.load %ids[%i] : memref<?xindex>
    %a = memref.load %t[%at] : memref<?xf32>
    %s = arith.addf %so_far, %a fastmath<reassoc> : f32
    scf.yield %s : f32
  }
  return %sum : f32
}
