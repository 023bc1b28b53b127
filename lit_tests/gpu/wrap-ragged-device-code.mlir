// RUN: ragged-opt %s --wrap-ragged-device-code | FileCheck %s

// What is loaded belongs to the device. Scalars of it that later code needs go through memory; the host
// reads back only what it needs itself, and the device makes views again where it uses them.
// CHECK-LABEL: func.func @sizes
// CHECK-SAME: (%[[O:.*]]: memref<?xi64>, %[[B:.*]]: memref<?xf32>, %[[I:.*]]: index)
// CHECK: %[[START:.*]] = memref.alloc() : memref<i64>
// CHECK: %[[SIZE:.*]] = memref.alloc() : memref<i64>
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK:   %[[LOADED:.*]] = memref.load %[[O]][%[[I]]]
// CHECK:   memref.store %{{.*}}, %[[START]][]
// CHECK:   memref.store %{{.*}}, %[[SIZE]][]
// CHECK: } {ragged.mapping = {threads = 1 : i64}}
// CHECK: %[[READ:.*]] = memref.load %[[SIZE]][]
// CHECK: %[[HOST:.*]] = arith.index_cast %[[READ]]
// CHECK: memref.alloc(%[[HOST]]) : memref<?xf32>
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK:   memref.load %[[START]][]
// CHECK:   %[[VIEW:.*]] = memref.subview %[[B]]
// CHECK:   linalg.generic {{.*}} outs(%[[VIEW]]
func.func @sizes(%o: memref<?xi64>, %b: memref<?xf32>, %i: index) -> memref<?xf32> {
  %c1 = arith.constant 1 : index
  %0 = memref.load %o[%i] : memref<?xi64>
  %1 = arith.index_cast %0 : i64 to index
  %2 = arith.addi %1, %c1 : index
  %m = memref.alloc(%2) : memref<?xf32>
  %s = memref.subview %b[%1] [4] [1] : memref<?xf32> to memref<4xf32, strided<[1], offset: ?>>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%s : memref<4xf32, strided<[1], offset: ?>>) {
  ^bb0(%out: f32):
    %4 = arith.addf %out, %out : f32
    linalg.yield %4 : f32
  }
  return %m : memref<?xf32>
}

// A report becomes stores into the status, which the entry gets last: the number last of all, and only
// while no record is kept.
// CHECK-LABEL: func.func @checked
// CHECK-SAME: (%[[N:.*]]: index, %[[STATUS:.*]]: memref<5xi64>)
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK:   %[[KEPT:.*]] = memref.load %[[STATUS]][%c0{{.*}}]
// CHECK:   arith.cmpi eq, %[[KEPT]]
// CHECK:   scf.if
// CHECK-COUNT-5: memref.store %{{.*}}, %[[STATUS]]
// CHECK-NOT: ragged_report
func.func private @ragged_report(i64, i64, i64, i64, i64)
func.func @checked(%n: index) {
  %zero = arith.constant 0 : i64
  %0 = arith.index_cast %n : index to i64
  func.call @ragged_report(%0, %zero, %zero, %0, %zero) : (i64, i64, i64, i64, i64) -> ()
  return
}

// Arithmetic on extents stays on the host, and so does a flat op, which is cut into tiles later.
// CHECK-LABEL: func.func @host
// CHECK-NOT: scf.forall
// CHECK: return
func.func @host(%x: memref<?xf32>) -> index {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = arith.addi %n, %n : index
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%x : memref<?xf32>) {
  ^bb0(%out: f32):
    %0 = arith.addf %out, %out : f32
    linalg.yield %0 : f32
  }
  return %m : index
}

// What the host reads it computes with: sizes and conditions of one scalar are read once. It is the device's where
// it is loaded, whose kernel is there anyway.
// CHECK-LABEL: func.func @read_once
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK: } {ragged.mapping = {threads = 1 : i64}}
// CHECK: linalg.generic
// CHECK: %[[READ:.*]] = memref.load %{{.*}}[] : memref<i64>
// CHECK-NOT: memref.load
// CHECK-NOT: scf.forall
// CHECK: %[[N:.*]] = arith.index_cast %[[READ]]
// CHECK: %[[MORE:.*]] = arith.addi %[[N]]
// CHECK: memref.alloc(%[[MORE]]) : memref<?xi64>
// CHECK: %[[FEW:.*]] = arith.cmpi ult, %[[N]]
// CHECK: scf.if %[[FEW]]
// CHECK:   %[[HALF:.*]] = arith.divui %[[MORE]]
// CHECK:   memref.alloc(%[[HALF]]) : memref<?xi64>
func.func @read_once(%o: memref<?xi64>, %i: index) -> memref<?xi64> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = memref.load %o[%i] : memref<?xi64>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%o : memref<?xi64>) {
  ^bb0(%out: i64):
    %1 = arith.addi %out, %out : i64
    linalg.yield %1 : i64
  }
  %n = arith.index_cast %0 : i64 to index
  %more = arith.addi %n, %c1 : index
  %m = memref.alloc(%more) : memref<?xi64>
  %few = arith.cmpi ult, %n, %c2 : index
  scf.if %few {
    %half = arith.divui %more, %c2 : index
    %h = memref.alloc(%half) : memref<?xi64>
    memref.copy %h, %m : memref<?xi64> to memref<?xi64>
  }
  return %m : memref<?xi64>
}
