// RUN: ragged-opt %s --split-input-file --vectorize-ragged-loops="isa=avx512" --canonicalize --cse | FileCheck %s
// RUN: ragged-opt %s --split-input-file --vectorize-ragged-loops="isa=sse" --canonicalize --cse | FileCheck %s --check-prefix=SSE

// A component of up to 16 elements is read once, and written once: a temporary of its own is in a register. Without
// masks there is one way only.

// CHECK-LABEL: func.func @centred
// CHECK-SAME: (%[[OFFSETS:.*]]: memref<?xi64>, %[[X:.*]]: memref<?xf32> {llvm.noalias}, %[[Y:.*]]: memref<?xf32> {llvm.noalias}
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %c1
// CHECK: %[[SHORT:.*]] = arith.cmpi ult, %[[LEFT]], %c16
// CHECK: %[[TEMP:.*]] = memref.alloc
// CHECK: scf.if %[[SHORT]] {
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: %[[A:.*]] = vector.maskedload
// CHECK: arith.select %[[MASK]], %[[A]]
// CHECK-NOT: vector.{{.*}}load
// CHECK: %[[B:.*]] = arith.subf %[[A]]
// CHECK-NOT: vector.{{.*}}{{load|store}}
// CHECK: %[[C:.*]] = arith.mulf %[[B]], %[[B]]
// CHECK: vector.maskedstore %{{.*}}, %[[MASK]], %[[C]]
// CHECK-NOT: store
// CHECK: } else {
// CHECK: scf.for
// CHECK: scf.for
// CHECK: vector.store %{{.*}}, %[[TEMP]]
// CHECK: scf.for
// CHECK: memref.dealloc %[[TEMP]]

// SSE-LABEL: func.func @centred
// SSE-NOT: scf.if
// SSE: return
func.func @centred(%offsets: memref<?xi64>, %x: memref<?xf32> {llvm.noalias}, %y: memref<?xf32> {llvm.noalias}, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %b = %c0 to %n step %c1 {
    %low = memref.load %offsets[%b] : memref<?xi64>
    %next = arith.addi %b, %c1 : index
    %high = memref.load %offsets[%next] : memref<?xi64>
    %l = arith.index_cast %low : i64 to index
    %h = arith.index_cast %high : i64 to index
    %length = arith.subi %h, %l : index
    %in = memref.subview %x[%l] [%length] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %out = memref.subview %y[%l] [%length] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %temp = memref.alloc(%length) : memref<?xf32>
    %sum = scf.for %i = %c0 to %length step %c1 iter_args(%s = %zero) -> (f32) {
      %a = memref.load %in[%i] : memref<?xf32, strided<[1], offset: ?>>
      %r = arith.addf %s, %a fastmath<reassoc> : f32
      scf.yield %r : f32
    }
    scf.for %i = %c0 to %length step %c1 {
      %a = memref.load %in[%i] : memref<?xf32, strided<[1], offset: ?>>
      %r = arith.subf %a, %sum : f32
      memref.store %r, %temp[%i] : memref<?xf32>
    }
    scf.for %i = %c0 to %length step %c1 {
      %a = memref.load %temp[%i] : memref<?xf32>
      %r = arith.mulf %a, %a : f32
      memref.store %r, %out[%i] : memref<?xf32, strided<[1], offset: ?>>
    }
    memref.dealloc %temp : memref<?xf32>
  }
  return
}

// -----

// What a loop has read is read again behind a store to memory that may be the same.

// CHECK-LABEL: func.func @unknown
// CHECK: scf.if
// CHECK: vector.maskedload
// CHECK: memref.store %{{.*}}, %{{.*}}[%c0]
// CHECK: vector.maskedload
// CHECK: } else {
func.func @unknown(%offsets: memref<?xi64> {llvm.noalias}, %x: memref<?xf32>, %y: memref<?xf32> {llvm.noalias}, %z: memref<?xf32>, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %b = %c0 to %n step %c1 {
    %low = memref.load %offsets[%b] : memref<?xi64>
    %length = arith.index_cast %low : i64 to index
    %sum = scf.for %i = %c0 to %length step %c1 iter_args(%s = %zero) -> (f32) {
      %a = memref.load %x[%i] : memref<?xf32>
      %r = arith.addf %s, %a fastmath<reassoc> : f32
      scf.yield %r : f32
    }
    memref.store %sum, %z[%c0] : memref<?xf32>
    %again = scf.for %i = %c0 to %length step %c1 iter_args(%s = %zero) -> (f32) {
      %a = memref.load %x[%i] : memref<?xf32>
      %r = arith.maximumf %s, %a : f32
      scf.yield %r : f32
    }
    memref.store %again, %y[%b] : memref<?xf32>
  }
  return
}

// -----

// A store to memory of which nothing is known writes no temporary of the component, which is in a register still.

// CHECK-LABEL: func.func @temporary
// CHECK: scf.if
// CHECK: %[[A:.*]] = vector.maskedload
// CHECK: %[[B:.*]] = arith.mulf %[[A]], %[[A]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%c0]
// CHECK-NOT: vector.maskedload
// CHECK: arith.select %{{.*}}, %[[B]]
// CHECK: } else {
func.func @temporary(%offsets: memref<?xi64> {llvm.noalias}, %x: memref<?xf32> {llvm.noalias}, %y: memref<?xf32> {llvm.noalias}, %z: memref<?xf32>, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %b = %c0 to %n step %c1 {
    %low = memref.load %offsets[%b] : memref<?xi64>
    %length = arith.index_cast %low : i64 to index
    %temp = memref.alloc(%length) : memref<?xf32>
    scf.for %i = %c0 to %length step %c1 {
      %a = memref.load %x[%i] : memref<?xf32>
      %r = arith.mulf %a, %a : f32
      memref.store %r, %temp[%i] : memref<?xf32>
    }
    memref.store %zero, %z[%c0] : memref<?xf32>
    %sum = scf.for %i = %c0 to %length step %c1 iter_args(%s = %zero) -> (f32) {
      %a = memref.load %temp[%i] : memref<?xf32>
      %r = arith.addf %s, %a fastmath<reassoc> : f32
      scf.yield %r : f32
    }
    memref.store %sum, %y[%b] : memref<?xf32>
    memref.dealloc %temp : memref<?xf32>
  }
  return
}
