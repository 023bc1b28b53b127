// RUN: ragged-opt %s --allow-unregistered-dialect --hoist-ragged-allocs | FileCheck %s

// One buffer for all components, as long as the longest; the size is computed once for buffers of one size.

// CHECK-LABEL: func.func @components
// CHECK-SAME: (%[[LO:.*]]: index, %[[HI:.*]]: index, %[[OFFSETS:.*]]: memref<?xi64>)
// CHECK: %[[MOST:.*]] = scf.for %[[I:.*]] = %[[LO]] to %[[HI]] step %{{.*}} iter_args(%[[M:.*]] = %{{.*}}) -> (index) {
// CHECK: memref.load %[[OFFSETS]][%[[I]]]
// CHECK: %[[N:.*]] = arith.subi %{{.*}}, %[[LO]] : index
// CHECK: %[[MAX:.*]] = arith.maxsi %[[M]], %[[N]]
// CHECK: scf.yield %[[MAX]]
// CHECK: %[[A:.*]] = memref.alloc(%[[MOST]]) {alignment = 64 : i64} : memref<?x8xf32>
// CHECK: %[[B:.*]] = memref.alloc(%[[MOST]]) : memref<?xf32>
// CHECK: scf.for
// CHECK-NOT: memref.alloc
// CHECK: %[[SIZE:.*]] = arith.subi %{{.*}}, %[[LO]] : index
// CHECK: %[[OWN:.*]] = memref.reinterpret_cast %[[A]] to offset: [0], sizes: [%[[SIZE]], 8], strides: [8, 1]
// CHECK: "test.use"(%[[OWN]]
// CHECK-NOT: memref.dealloc
// CHECK: }
// CHECK: memref.dealloc %[[B]]
// CHECK: memref.dealloc %[[A]]
func.func @components(%lo: index, %hi: index, %offsets: memref<?xi64>) {
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %j = arith.addi %i, %c1 : index
    %a = memref.load %offsets[%i] : memref<?xi64>
    %b = memref.load %offsets[%j] : memref<?xi64>
    %d = arith.subi %b, %a : i64
    %c = arith.index_cast %d : i64 to index
    %n = arith.subi %c, %lo : index
    %t = memref.alloc(%n) {alignment = 64 : i64} : memref<?x8xf32>
    %u = memref.alloc(%n) : memref<?xf32>
    "test.use"(%t, %u) : (memref<?x8xf32>, memref<?xf32>) -> ()
    memref.dealloc %t : memref<?x8xf32>
    memref.dealloc %u : memref<?xf32>
  }
  return
}

// Lists in components: the longest of the longest.

// CHECK-LABEL: func.func @lists
// CHECK: scf.for {{.*}} -> (index)
// CHECK: scf.for {{.*}} -> (index)
// CHECK: memref.alloc
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: memref.alloc
// CHECK: memref.reinterpret_cast
func.func @lists(%n: index, %offsets: memref<?xindex>, %lengths: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %b = %c0 to %n step %c1 {
    %m = memref.load %offsets[%b] : memref<?xindex>
    scf.for %i = %c0 to %m step %c1 {
      %l = memref.load %lengths[%i] : memref<?xindex>
      %t = memref.alloc(%l) : memref<?xf32>
      "test.use"(%t) : (memref<?xf32>) -> ()
      memref.dealloc %t : memref<?xf32>
    }
  }
  return
}

// A size that does not depend on the loop.

// CHECK-LABEL: func.func @alike
// CHECK: memref.alloc
// CHECK: scf.for
// CHECK-NOT: memref.reinterpret_cast
// CHECK: memref.dealloc
func.func @alike(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %b = %c0 to %n step %c1 {
    %t = memref.alloc(%n) : memref<4x?xf32>
    "test.use"(%t) : (memref<4x?xf32>) -> ()
    memref.dealloc %t : memref<4x?xf32>
  }
  return
}

// Sizes that the loop writes, that it carries, and of inner dims stay; so does what an iteration gives to the next one.

// CHECK-LABEL: func.func @stays
// CHECK-NOT: memref.alloc
// CHECK: scf.for
// CHECK: memref.alloc
// CHECK: scf.for
// CHECK: memref.alloc
// CHECK: scf.for
// CHECK: memref.alloc
func.func @stays(%n: index, %sizes: memref<?xindex>, %fixed: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %b = %c0 to %n step %c1 {
    %l = memref.load %sizes[%b] : memref<?xindex>
    memref.store %b, %sizes[%l] : memref<?xindex>
    %t = memref.alloc(%l) : memref<?xf32>
    memref.dealloc %t : memref<?xf32>
  }
  %s = scf.for %b = %c0 to %n step %c1 iter_args(%k = %n) -> (index) {
    %t = memref.alloc(%k) : memref<?xf32>
    memref.dealloc %t : memref<?xf32>
    scf.yield %b : index
  }
  scf.for %b = %c0 to %n step %c1 {
    %l = memref.load %fixed[%b] : memref<?xindex>
    %t = memref.alloc(%l) : memref<4x?xf32>
    memref.dealloc %t : memref<4x?xf32>
  }
  return
}

// As long as the number of the iteration.

// CHECK-LABEL: func.func @triangle
// CHECK: %[[MOST:.*]] = scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[M:.*]] = %{{.*}}) -> (index) {
// CHECK: arith.maxsi %[[M]], %[[I]]
// CHECK: %[[A:.*]] = memref.alloc(%[[MOST]])
// CHECK: scf.for %[[I:.*]] = 
// CHECK: memref.reinterpret_cast %[[A]] to offset: [0], sizes: [%[[I]]]
func.func @triangle(%lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %t = memref.alloc(%i) : memref<?xf32>
    "test.use"(%t) : (memref<?xf32>) -> ()
    memref.dealloc %t : memref<?xf32>
  }
  return
}

// A size is not loaded before the loop has checked where it is.
// CHECK-LABEL: func.func @checked
// CHECK-NOT: memref.load
// CHECK: scf.for
// CHECK: func.call @ragged_report
// CHECK: memref.alloc
func.func private @ragged_report(i64, i64, i64, i64, i64)

func.func @checked(%hi: index, %at: memref<?xindex>, %sizes: memref<?xindex>, %zero: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %hi step %c1 {
    %j = memref.load %at[%i] : memref<?xindex>
    %bad = arith.cmpi uge, %j, %hi : index
    %number = arith.extui %bad : i1 to i64
    func.call @ragged_report(%number, %zero, %zero, %zero, %zero) : (i64, i64, i64, i64, i64) -> ()
    %n = memref.load %sizes[%j] : memref<?xindex>
    %t = memref.alloc(%n) : memref<?xf32>
    "test.use"(%t) : (memref<?xf32>) -> ()
    memref.dealloc %t : memref<?xf32>
  }
  return
}

// Nor before a function that it calls has.
// CHECK-LABEL: func.func @calls
// CHECK-NOT: memref.load
// CHECK: scf.for
// CHECK: func.call @check
// CHECK: memref.alloc
func.func private @check(%i: index, %bound: index, %zero: i64) {
  %bad = arith.cmpi uge, %i, %bound : index
  %number = arith.extui %bad : i1 to i64
  func.call @ragged_report(%number, %zero, %zero, %zero, %zero) : (i64, i64, i64, i64, i64) -> ()
  return
}

func.func @calls(%hi: index, %bound: index, %sizes: memref<?xindex>, %zero: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %hi step %c1 {
    func.call @check(%i, %bound, %zero) : (index, index, i64) -> ()
    %n = memref.load %sizes[%i] : memref<?xindex>
    %t = memref.alloc(%n) : memref<?xf32>
    "test.use"(%t) : (memref<?xf32>) -> ()
    memref.dealloc %t : memref<?xf32>
  }
  return
}

// What it checks may be the size.
// CHECK-LABEL: func.func @size
// CHECK: scf.for
// CHECK: func.call @ragged_report
// CHECK: memref.alloc
func.func @size(%hi: index, %n: index, %zero: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %hi step %c1 {
    %bad = arith.cmpi ugt, %n, %hi : index
    %number = arith.extui %bad : i1 to i64
    func.call @ragged_report(%number, %zero, %zero, %zero, %zero) : (i64, i64, i64, i64, i64) -> ()
    %t = memref.alloc(%n) : memref<?xf32>
    "test.use"(%t) : (memref<?xf32>) -> ()
    memref.dealloc %t : memref<?xf32>
  }
  return
}
