// RUN: ragged-opt --split-long-scans="long=64 tile=16" --cse %s | FileCheck %s

// Running sums take three steps: sums of tiles, where tiles start, and the sums in each.

// CHECK-LABEL: func.func @scan
// CHECK: arith.cmpi sgt, %{{.*}}, %c64
// CHECK: arith.divui %{{.*}}, %c16
// CHECK: %[[SUMS:.*]] = memref.alloc(%[[TILES:.*]]) : memref<?xi64>
// CHECK: %[[STARTS:.*]] = memref.alloc(%{{.*}}) : memref<?xi64>
// CHECK: scf.forall (%{{.*}}) in (%[[TILES]]) {
// CHECK-NOT: memref.store {{.*}} %arg1
// CHECK: } {ragged.fold = {few, kind = "addi"}}
// CHECK: memref.store %{{.*}}, %[[SUMS]]
// CHECK: %[[ONCE:.*]] = arith.minsi %[[TILES]], %c1
// CHECK: scf.forall (%{{.*}}) in (%[[ONCE]]) {
// CHECK: memref.load %[[SUMS]]
// CHECK: memref.store %{{.*}}, %[[STARTS]]
// CHECK: } {ragged.fold = {kind = "scan"}}
// CHECK: %[[ALWAYS:.*]] = arith.maxsi %[[TILES]], %c1
// CHECK: scf.forall (%{{.*}}) in (%[[ALWAYS]]) {
// CHECK: memref.load %[[STARTS]]
// CHECK: memref.store %{{.*}}, %arg1
// CHECK: } {ragged.fold = {kind = "scan"}}
func.func @scan(%n: memref<?xi64>, %offsets: memref<?xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %count = memref.dim %n, %c0 : memref<?xi64>
  scf.forall (%i) in (1) {
    %total = scf.for %k = %c0 to %count step %c1 iter_args(%sum = %zero) -> (i64) {
      %x = memref.load %n[%k] : memref<?xi64>
      %next = arith.addi %sum, %x : i64
      %at = arith.addi %k, %c1 : index
      memref.store %next, %offsets[%at] : memref<?xi64>
      scf.yield %next : i64
    } {ragged.fold = {kind = "scan"}}
  }
  return
}

// A short vector has no tiles, nor has a loop that reads what it writes.

// CHECK-LABEL: func.func @whole
// CHECK-NOT: few
// CHECK: return
func.func @whole(%n: memref<64xi64>, %m: memref<?xi64>, %offsets: memref<65xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i64
  %count = memref.dim %m, %c0 : memref<?xi64>
  scf.forall (%i) in (1) {
    %total = scf.for %k = %c0 to %c64 step %c1 iter_args(%sum = %zero) -> (i64) {
      %x = memref.load %n[%k] : memref<64xi64>
      %next = arith.addi %sum, %x : i64
      memref.store %next, %offsets[%k] : memref<65xi64>
      scf.yield %next : i64
    } {ragged.fold = {kind = "scan"}}
  }
  scf.forall (%i) in (1) {
    %total = scf.for %k = %c0 to %count step %c1 iter_args(%sum = %zero) -> (i64) {
      %x = memref.load %m[%k] : memref<?xi64>
      %next = arith.addi %sum, %x : i64
      memref.store %next, %m[%k] : memref<?xi64>
      scf.yield %next : i64
    } {ragged.fold = {kind = "scan"}}
  }
  return
}
