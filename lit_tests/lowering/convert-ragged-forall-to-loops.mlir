// RUN: ragged-opt %s "--convert-ragged-forall-to-loops=chunk=1024" | FileCheck %s

// CHECK-LABEL: func.func @forall
// CHECK-SAME: %[[N:[a-z0-9]+]]: index
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[N]]
// CHECK:   memref.store %{{.*}}, %{{.*}}[%[[I]]]
// CHECK: } {ragged.parallel}
func.func @forall(%n: index, %x: memref<?xf32>, %s: f32) {
  scf.forall (%i) in (%n) {
    memref.store %s, %x[%i] : memref<?xf32>
  }
  return
}

// Two dims become one loop; the indices come back by division.
// CHECK-LABEL: func.func @two
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK:   %[[OUTER:.*]] = arith.divui %[[I]]
// CHECK:   memref.store %{{.*}}, %{{.*}}[%[[OUTER]], %{{.*}}]
func.func @two(%n: index, %x: memref<?x4xf32>, %s: f32) {
  scf.forall (%i, %j) in (%n, 4) {
    memref.store %s, %x[%i, %j] : memref<?x4xf32>
  }
  return
}

// A flat op is cut into chunks of about the given number of elements: 16 rows of 64.
// CHECK-LABEL: func.func @flat
// CHECK: scf.for %[[C:.*]] =
// CHECK:   %[[LOW:.*]] = arith.muli %[[C]], %{{.*}} : index
// CHECK:   memref.subview %{{.*}}[%[[LOW]], 0]
// CHECK:   linalg.fill
// CHECK: } {ragged.parallel}
func.func @flat(%x: memref<?x64xf32>, %s: f32) {
  linalg.fill ins(%s : f32) outs(%x : memref<?x64xf32>)
  return
}

// A small one is not.
// CHECK-LABEL: func.func @small
// CHECK-NOT: scf.for
func.func @small(%x: memref<8x64xf32>, %s: f32) {
  linalg.fill ins(%s : f32) outs(%x : memref<8x64xf32>)
  return
}
