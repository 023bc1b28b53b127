// RUN: ragged-opt %s --narrow-ragged-loops | FileCheck %s

// What is added is 0 where the mask is false: the loop begins behind the other index, and the mask holds.
// CHECK-LABEL: func.func @later
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[N:.*]] step
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %{{.*}} : index
// CHECK: %[[LOW:.*]] = arith.maxsi %{{.*}}, %[[NEXT]] : index
// CHECK: %[[HIGH:.*]] = arith.maxsi %[[LOW]], %[[N]] : index
// CHECK: scf.for %{{.*}} = %[[LOW]] to %[[HIGH]] step
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: arith.select %[[TRUE]]
func.func @later(%x: memref<?xf32>, %n: index, %sum: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %value = memref.load %x[%j] : memref<?xf32>
      %later = arith.cmpi slt, %i, %j : index
      %chosen = arith.select %later, %value, %zero : f32
      %acc = memref.load %sum[] : memref<f32>
      %more = arith.addf %acc, %chosen : f32
      memref.store %more, %sum[] : memref<f32>
    }
  }
  return
}

// Of a band both bounds are known. A maximum takes what it leaves out in once, where it leaves anything out.
// CHECK-LABEL: func.func @band
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[N:.*]] step
// CHECK: %[[FEWER:.*]] = arith.cmpi slt
// CHECK: %[[FOUND:.*]] = scf.for
// CHECK: %[[ONCE:.*]] = arith.maximumf %[[FOUND]], %{{.*}} : f32
// CHECK: %[[ALL:.*]] = arith.select %[[FEWER]], %[[ONCE]], %[[FOUND]] : f32
// CHECK: memref.store %[[ALL]]
func.func @band(%x: memref<?xf32>, %n: index, %w: i64, %result: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  scf.for %i = %c0 to %n step %c1 {
    %found = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %lowest) -> (f32) {
      %a = arith.index_cast %i : index to i64
      %b = arith.index_cast %j : index to i64
      %apart = arith.subi %a, %b : i64
      %distance = math.absi %apart : i64
      %near = arith.cmpi sle, %distance, %w : i64
      %value = memref.load %x[%j] : memref<?xf32>
      %chosen = arith.select %near, %value, %two : f32
      %more = arith.maximumf %acc, %chosen : f32
      scf.yield %more : f32
    }
    memref.store %found, %result[%i] : memref<?xf32>
  }
  return
}

// A sum takes in what is no 0 as often as it is left out.
// CHECK-LABEL: func.func @others_count
// CHECK: scf.for %{{.*}} = %[[ZERO:.*]] to %[[N:.*]] step
// CHECK-NEXT: scf.for %{{.*}} = %[[ZERO]] to %[[N]] step
// CHECK: arith.cmpi slt
func.func @others_count(%x: memref<?xf32>, %n: index, %sum: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %value = memref.load %x[%j] : memref<?xf32>
      %later = arith.cmpi slt, %i, %j : index
      %chosen = arith.select %later, %value, %one : f32
      %acc = memref.load %sum[] : memref<f32>
      %more = arith.addf %acc, %chosen : f32
      memref.store %more, %sum[] : memref<f32>
    }
  }
  return
}

// A mask of data says nothing of indices.
// CHECK-LABEL: func.func @of_data
// CHECK: scf.for %{{.*}} = %[[ZERO:.*]] to %[[N:.*]] step
// CHECK-NEXT: scf.for %{{.*}} = %[[ZERO]] to %[[N]] step
func.func @of_data(%x: memref<?xi64>, %n: index, %count: memref<i64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %a = memref.load %x[%i] : memref<?xi64>
      %b = memref.load %x[%j] : memref<?xi64>
      %less = arith.cmpi slt, %a, %b : i64
      %one = arith.extui %less : i1 to i64
      %acc = memref.load %count[] : memref<i64>
      %more = arith.addi %acc, %one : i64
      memref.store %more, %count[] : memref<i64>
    }
  }
  return
}

// A maximum that leaves nan out is a comparison and a choice.
// CHECK-LABEL: func.func @by_comparison
// CHECK: %[[FOUND:.*]] = scf.for
// CHECK: %[[MORE:.*]] = arith.cmpf ogt, %[[ZERO:.*]], %[[FOUND]] : f32
// CHECK: %[[ONCE:.*]] = arith.select %[[MORE]], %[[ZERO]], %[[FOUND]] : f32
// CHECK: %[[ALL:.*]] = arith.select %{{.*}}, %[[ONCE]], %[[FOUND]] : f32
// CHECK: memref.store %[[ALL]]
func.func @by_comparison(%x: memref<?xf32>, %n: index, %result: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  scf.for %i = %c0 to %n step %c1 {
    %found = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %lowest) -> (f32) {
      %before = arith.cmpi sgt, %i, %j : index
      %value = memref.load %x[%j] : memref<?xf32>
      %chosen = arith.select %before, %value, %zero : f32
      %larger = arith.cmpf ogt, %chosen, %acc : f32
      %more = arith.select %larger, %chosen, %acc : f32
      scf.yield %more : f32
    }
    memref.store %found, %result[%i] : memref<?xf32>
  }
  return
}

// A number that is read in the loop is read before it, too: it is there also where there are no iterations.
// CHECK-LABEL: func.func @number
// CHECK: scf.for %[[I:.*]] = %{{.*}} to
// CHECK: %[[W:.*]] = memref.load %{{.*}}[] : memref<i64>
// CHECK: %[[BOUND:.*]] = arith.index_cast %[[W]] : i64 to index
// CHECK: arith.minsi %[[BOUND]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[HIGH:.*]] step
// CHECK: arith.select %true
func.func @number(%x: memref<?xf32>, %n: index, %number: memref<i64>, %sum: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %w = memref.load %number[] : memref<i64>
      %apart = arith.subi %j, %i : index
      %a = arith.index_cast %apart : index to i64
      %near = arith.cmpi slt, %a, %w : i64
      %value = memref.load %x[%j] : memref<?xf32>
      %chosen = arith.select %near, %value, %zero : f32
      %acc = memref.load %sum[] : memref<f32>
      %more = arith.addf %acc, %chosen : f32
      memref.store %more, %sum[] : memref<f32>
    }
  }
  return
}

// An element of a row of bounds may not be there where there are no iterations.
// CHECK-LABEL: func.func @bounds
// CHECK: scf.for %{{.*}} = %[[ZERO:.*]] to %[[N:.*]] step
// CHECK-NEXT: scf.for %{{.*}} = %[[ZERO]] to %[[N]] step
func.func @bounds(%x: memref<?xf32>, %n: index, %bounds: memref<?xi64>, %sum: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %w = memref.load %bounds[%c0] : memref<?xi64>
      %apart = arith.subi %j, %i : index
      %a = arith.index_cast %apart : index to i64
      %near = arith.cmpi slt, %a, %w : i64
      %value = memref.load %x[%j] : memref<?xf32>
      %chosen = arith.select %near, %value, %zero : f32
      %acc = memref.load %sum[] : memref<f32>
      %more = arith.addf %acc, %chosen : f32
      memref.store %more, %sum[] : memref<f32>
    }
  }
  return
}
