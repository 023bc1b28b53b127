// RUN: ragged-opt %s --split-input-file --cascade-ragged-sums --canonicalize | FileCheck %s

// Rows are added in chunks of 64, and chunks in pairs, which short components do not touch.

// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[X:.*]]: memref<?x8xf32>, %[[OUT:.*]]: memref<8xf32>, %[[N:.*]]: index)
// CHECK-DAG: %[[HIGH:.*]] = memref.alloca() : memref<8xf32>
// CHECK-DAG: %[[LOW:.*]] = memref.alloca() : memref<8xf32>
// CHECK: scf.for %[[FIRST:.*]] = %{{.*}} to %[[N]] step %c64
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[N]]
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[END]]
// CHECK: arith.addf %{{.*}} fastmath<reassoc> : f32
// CHECK: %[[START:.*]] = arith.cmpi eq, %[[FIRST]]
// CHECK: %[[LAST:.*]] = arith.cmpi sge, %[[END]], %[[N]]
// CHECK: %[[LONG:.*]] = arith.cmpi sgt, %[[N]]
// CHECK: scf.if %[[LONG]]
// CHECK: arith.select %[[START]]
// CHECK-COUNT-2: memref.store %{{.*}} : memref<8xf32>
// CHECK: arith.select %[[LAST]]
// CHECK: memref.store %{{.*}}, %[[OUT]]
func.func @rows(%x: memref<?x8xf32>, %out: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x8xf32>
      %b = memref.load %out[%j] : memref<8xf32>
      %s = arith.addf %b, %a fastmath<reassoc> : f32
      memref.store %s, %out[%j] : memref<8xf32>
    }
  }
  return
}

// -----

// A single loop carries its sum; along memory vectors add, so that chunks are longer.

// CHECK-LABEL: func.func @numbers
// CHECK: scf.for %{{.*}} step %c1024 iter_args
// CHECK: scf.for %{{.*}} iter_args
// CHECK: memref.store %{{.*}}[] : memref<f32>
// CHECK-NEXT: return
func.func @numbers(%x: memref<?xf32>, %out: memref<f32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = memref.load %out[] : memref<f32>
    %s = arith.addf %b, %a fastmath<reassoc> : f32
    memref.store %s, %out[] : memref<f32>
  }
  return
}

// -----

// More columns than there is room for run in tiles.

// CHECK-LABEL: func.func @wide
// CHECK: memref.alloca() : memref<4096xf64>
// CHECK: scf.for %{{.*}} step %c4096
// CHECK: scf.for %{{.*}} step %c64
func.func @wide(%x: memref<?x?xf64>, %out: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %b = memref.load %out[%j] : memref<?xf64>
      %s = arith.addf %b, %a fastmath<reassoc> : f64
      memref.store %s, %out[%j] : memref<?xf64>
    }
  }
  return
}

// -----

// Without reassoc the order stays; short sums stay.

// CHECK-LABEL: func.func @kept
// CHECK-NOT: alloca
// CHECK-NOT: arith.minsi
// CHECK: return
func.func @kept(%x: memref<?xf32>, %out: memref<f32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = memref.load %out[] : memref<f32>
    %s = arith.addf %b, %a : f32
    memref.store %s, %out[] : memref<f32>
  }
  scf.for %i = %c0 to %c64 step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = memref.load %out[] : memref<f32>
    %s = arith.addf %b, %a fastmath<reassoc> : f32
    memref.store %s, %out[] : memref<f32>
  }
  return
}

// -----

// So do sums of what is no number: pairs of sums would need a zero.

// CHECK-LABEL: func.func @vectors
// CHECK-NOT: arith.minsi
// CHECK: return
func.func @vectors(%x: memref<?xvector<2xf32>>, %out: memref<vector<2xf32>>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xvector<2xf32>>
    %b = memref.load %out[] : memref<vector<2xf32>>
    %s = arith.addf %b, %a fastmath<reassoc> : vector<2xf32>
    memref.store %s, %out[] : memref<vector<2xf32>>
  }
  return
}
