// RUN: ragged-opt %s --share-long-folds | FileCheck %s

// Parts of the vector are looked through by a forall, from the neutral element, and what they come to after that.

// CHECK-LABEL: func.func @check
// CHECK-SAME: (%[[IDS:.*]]: memref<?xindex>, %[[N:.*]]: index)
// CHECK: %[[SUM:.*]] = arith.addi %[[N]], %c16383
// CHECK: %[[TILES:.*]] = arith.divui %[[SUM]], %c16384
// CHECK: %[[PARTS:.*]] = memref.alloc(%[[TILES]]) : memref<?xindex>
// CHECK: scf.forall (%[[T:.*]]) in (%[[TILES]]) {
// CHECK:   %[[LOW:.*]] = arith.muli %[[T]], %c16384
// CHECK:   %[[END:.*]] = arith.addi %[[LOW]], %c16384
// CHECK:   %[[HIGH:.*]] = arith.minsi %[[END]], %[[N]]
// CHECK:   %[[NONE:.*]] = arith.constant -1 : index
// CHECK:   %[[PART:.*]] = scf.for %[[I:.*]] = %[[LOW]] to %[[HIGH]] step %{{.*}} iter_args(%{{.*}} = %[[NONE]])
// CHECK:     memref.load %[[IDS]][%[[I]]]
// CHECK-NOT: ragged.fold
// CHECK:   memref.store %[[PART]], %[[PARTS]][%[[T]]]
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %[[TILES]] step
// CHECK:   %[[ONE:.*]] = memref.load %[[PARTS]][%[[K]]]
// CHECK:   arith.minui %{{.*}}, %[[ONE]]
func.func @check(%ids: memref<?xindex>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant -1 : index
  %first = scf.for %i = %c0 to %n step %c1 iter_args(%found = %none) -> (index) {
    %id = memref.load %ids[%i] : memref<?xindex>
    %bad = arith.cmpi uge, %id, %n : index
    %here = arith.select %bad, %i, %none : index
    %next = arith.minui %found, %here : index
    scf.yield %next : index
  } {ragged.fold = {kind = "search"}}
  return %first : index
}

// Loops of few iterations, in other loops, of scans, that start elsewhere and that write stay.

// CHECK-LABEL: func.func @others
// CHECK-NOT: scf.forall
// CHECK: return
func.func @others(%v: memref<?xindex>, %n: index) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %few = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c0) -> (index) {
    %x = memref.load %v[%i] : memref<?xindex>
    %next = arith.addi %sum, %x : index
    scf.yield %next : index
  } {ragged.fold = {kind = "addi", few}}
  scf.for %k = %c0 to %n step %c1 {
    %inner = scf.for %i = %c0 to %n step %c1 iter_args(%most = %c0) -> (index) {
      %x = memref.load %v[%i] : memref<?xindex>
      %next = arith.maxsi %most, %x : index
      scf.yield %next : index
    } {ragged.fold = {kind = "maxsi"}}
    memref.store %inner, %v[%k] : memref<?xindex>
  }
  %scan = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c0) -> (index) {
    memref.store %sum, %v[%i] : memref<?xindex>
    %x = memref.load %v[%i] : memref<?xindex>
    %next = arith.addi %sum, %x : index
    scf.yield %next : index
  } {ragged.fold = {kind = "scan"}}
  %writes = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c0) -> (index) {
    memref.store %c0, %v[%i] : memref<?xindex>
    %next = arith.addi %sum, %i : index
    scf.yield %next : index
  } {ragged.fold = {kind = "addi"}}
  %later = scf.for %i = %c1 to %n step %c1 iter_args(%sum = %writes) -> (index) {
    %x = memref.load %v[%i] : memref<?xindex>
    %next = arith.addi %sum, %x : index
    scf.yield %next : index
  } {ragged.fold = {kind = "addi"}}
  return %few, %later : index, index
}
