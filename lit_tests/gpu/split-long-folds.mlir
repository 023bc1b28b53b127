// RUN: ragged-opt --split-long-folds --cse %s | FileCheck %s

// Loops over index vectors of more than 16384 entries are done in tiles: of two checks both at once, though the second
// one's result counts only when the first has found nothing. Without tiles the one block does all, and where a loop
// would read past the end of a vector, which something around it may keep it from, there are none.

// CHECK-LABEL: func.func @checks
// CHECK: %[[HIGHEST:.*]] = arith.subi %[[N:.*]], %c1
// CHECK: %[[WITHIN:.*]] = arith.cmpi slt, %[[HIGHEST]], %[[N]]
// CHECK: %[[LONG:.*]] = arith.cmpi sgt, %[[N]], %c16384
// CHECK: %[[MANY:.*]] = arith.andi %[[LONG]], %[[WITHIN]]
// CHECK: %[[UP:.*]] = arith.addi %[[N]], %c2047
// CHECK: %[[CEIL:.*]] = arith.divui %[[UP]], %c2048
// CHECK: %[[TILES:.*]] = arith.select %[[MANY]], %[[CEIL]], %c0
// CHECK: %[[NOT:.*]] = arith.xori %arg2, %true
// CHECK: %[[BOTH:.*]] = arith.andi %[[MANY]], %[[NOT]]
// CHECK: %[[ANY:.*]] = arith.select %[[BOTH]], %[[CEIL]], %c0
// CHECK: %[[FIRST:.*]] = memref.alloc(%[[TILES]]) : memref<?xi64>
// CHECK: %[[SECOND:.*]] = memref.alloc(%[[ANY]]) : memref<?xi64>
// CHECK: scf.forall (%[[T:.*]]) in (%{{.*}}) {
// CHECK:   %[[HAS:.*]] = arith.cmpi ult, %[[T]], %[[TILES]]
// CHECK:   scf.if %[[HAS]] {
// CHECK:     scf.for %{{.*}} to %{{.*}} step %c1 iter_args(%{{.*}} = %c-1
// CHECK:     } {ragged.fold = {few, kind = "search"}}
// CHECK:     memref.store %{{.*}}, %[[FIRST]][%[[T]]]
// CHECK:   scf.if
// CHECK:     scf.for %{{.*}} to %{{.*}} step %c1 iter_args(%{{.*}} = %c0
// CHECK:     } {ragged.fold = {few, kind = "addi"}}
// CHECK:     memref.store %{{.*}}, %[[SECOND]][%[[T]]]
// CHECK: }
// CHECK: scf.forall (%{{.*}}) in (1) {
// CHECK:   scf.if
// CHECK:     memref.load %[[FIRST]]
// CHECK:     arith.minui
// CHECK:   } else {
// CHECK:     } {ragged.fold = {kind = "search"}}
// CHECK:   scf.if
// CHECK:     memref.load %[[SECOND]]
func.func @checks(%v: memref<?xi64>, %out: memref<2xi64>, %flag: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant -1 : index
  %n = memref.dim %v, %c0 : memref<?xi64>
  scf.forall (%i) in (1) {
    %bad = scf.for %k = %c0 to %n step %c1 iter_args(%at = %none) -> (index) {
      %x = memref.load %v[%k] : memref<?xi64>
      %y = arith.index_cast %x : i64 to index
      %low = arith.cmpi slt, %y, %c0 : index
      %free = arith.cmpi slt, %at, %c0 : index
      %both = arith.andi %low, %free : i1
      %next = arith.select %both, %k, %at : index
      scf.yield %next : index
    } {ragged.fold = {kind = "search"}}
    %fine = arith.cmpi slt, %bad, %c0 : index
    scf.if %fine {
      scf.if %flag {
      } else {
        %sum = scf.for %k = %c0 to %n step %c1 iter_args(%at = %c0) -> (index) {
          %x = memref.load %v[%k] : memref<?xi64>
          %y = arith.index_cast %x : i64 to index
          %next = arith.addi %at, %y : index
          scf.yield %next : index
        } {ragged.fold = {kind = "addi"}}
        %s = arith.index_cast %sum : index to i64
        memref.store %s, %out[%c1] : memref<2xi64>
      }
    }
    %b = arith.index_cast %bad : index to i64
    memref.store %b, %out[%c0] : memref<2xi64>
  }
  return
}

// What reads at a place that was read, from what the kernel writes, or as often as was read, has no tiles; nor has what
// needs a quotient that the host may have no right to compute.

// CHECK-LABEL: func.func @whole
// CHECK-NOT: few
// CHECK: return
func.func @whole(%v: memref<?xi64>, %at: memref<?xi64>, %out: memref<?xi64>, %parts: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %v, %c0 : memref<?xi64>
  scf.forall (%i) in (1) {
    %0 = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %c0) -> (index) {
      %p = memref.load %at[%k] : memref<?xi64>
      %q = arith.index_cast %p : i64 to index
      %x = memref.load %v[%q] : memref<?xi64>
      %y = arith.index_cast %x : i64 to index
      %next = arith.addi %sum, %y : index
      scf.yield %next : index
    } {ragged.fold = {kind = "addi"}}
    %s = arith.index_cast %0 : index to i64
    memref.store %s, %out[%c0] : memref<?xi64>
    %1 = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %c0) -> (index) {
      %x = memref.load %out[%k] : memref<?xi64>
      %y = arith.index_cast %x : i64 to index
      %next = arith.addi %sum, %y : index
      scf.yield %next : index
    } {ragged.fold = {kind = "addi"}}
    %2 = scf.for %k = %c0 to %1 step %c1 iter_args(%sum = %c0) -> (index) {
      %x = memref.load %v[%k] : memref<?xi64>
      %y = arith.index_cast %x : i64 to index
      %next = arith.addi %sum, %y : index
      scf.yield %next : index
    } {ragged.fold = {kind = "addi"}}
    %any = arith.cmpi ne, %parts, %c0 : index
    %3 = scf.if %any -> (index) {
      %q = arith.divui %n, %parts : index
      %4 = scf.for %k = %c0 to %q step %c1 iter_args(%sum = %c0) -> (index) {
        %x = memref.load %v[%k] : memref<?xi64>
        %y = arith.index_cast %x : i64 to index
        %next = arith.addi %sum, %y : index
        scf.yield %next : index
      } {ragged.fold = {kind = "addi"}}
      scf.yield %4 : index
    } else {
      scf.yield %2 : index
    }
    %t = arith.index_cast %3 : index to i64
    memref.store %t, %out[%c1] : memref<?xi64>
  }
  return
}
