// RUN: ragged-opt %s --vectorize-ragged-loops="isa=avx512" --canonicalize --cse | FileCheck %s

// A row of 21 that is written where it was read: a register, and pieces of four and one. A mask would leave out the next
// row's first elements, which would be read only when this one is in memory.

// CHECK-LABEL: func.func @in_place
// CHECK: %[[FIRST:.*]] = vector.load %{{.*}} : memref<?x21xf32>, vector<16xf32>
// CHECK: vector.store %{{.*}}, %{{.*}} : memref<?x21xf32>, vector<16xf32>
// CHECK: vector.maskedload
// CHECK: %[[FOUR:.*]] = vector.extract_strided_slice %{{.*}} {offsets = [0], sizes = [4], strides = [1]}
// CHECK: vector.store %[[FOUR]], %{{.*}}, %c16{{.*}} : memref<?x21xf32>, vector<4xf32>
// CHECK: vector.store %{{.*}}, %c20{{.*}} : memref<?x21xf32>, vector<1xf32>
// CHECK-NOT: vector.maskedstore
// CHECK: return
func.func @in_place(%x: memref<?x21xf32>, %s: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c21 = arith.constant 21 : index
  scf.for %r = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c21 step %c1 {
      %a = memref.load %x[%r, %k] : memref<?x21xf32>
      %b = memref.load %s[%r] : memref<?xf32>
      %p = arith.mulf %a, %b : f32
      memref.store %p, %x[%r, %k] : memref<?x21xf32>
    }
  }
  return
}

// Written elsewhere, the end has a mask.

// CHECK-LABEL: func.func @elsewhere
// CHECK: vector.maskedstore
func.func @elsewhere(%x: memref<?x21xf32>, %n: index, %size: index) -> memref<?x21xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c21 = arith.constant 21 : index
  %y = memref.alloc(%size) : memref<?x21xf32>
  scf.for %r = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c21 step %c1 {
      %a = memref.load %x[%r, %k] : memref<?x21xf32>
      %p = math.absf %a : f32
      memref.store %p, %y[%r, %k] : memref<?x21xf32>
    }
  }
  return %y : memref<?x21xf32>
}

// A running sum is on the stack, where it is read and written in pieces: LLVM keeps these in registers.

// CHECK-LABEL: func.func @running
// CHECK: memref.alloca() : memref<15xf32>
// CHECK: scf.for
// CHECK: vector.maskedload %{{.*}} : memref<?x15xf32>
// CHECK: vector.load %{{.*}}[%c0] : memref<15xf32>, vector<8xf32>
// CHECK: vector.load %{{.*}}[%c8] : memref<15xf32>, vector<4xf32>
// CHECK: vector.load %{{.*}}[%c12] : memref<15xf32>, vector<2xf32>
// CHECK: vector.load %{{.*}}[%c14] : memref<15xf32>, vector<1xf32>
// CHECK: vector.store %{{.*}}[%c14] : memref<15xf32>, vector<1xf32>
// CHECK: vector.maskedstore %{{.*}} : memref<?x15xf32>
// CHECK: return
func.func @running(%x: memref<?x15xf32>, %n: index, %size: index) -> memref<?x15xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloca() : memref<15xf32>
  %y = memref.alloc(%size) : memref<?x15xf32>
  scf.for %k = %c0 to %c15 step %c1 {
    memref.store %zero, %sum[%k] : memref<15xf32>
  }
  scf.for %r = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c15 step %c1 {
      %a = memref.load %x[%r, %k] : memref<?x15xf32>
      %b = memref.load %sum[%k] : memref<15xf32>
      %s = arith.addf %b, %a : f32
      memref.store %s, %sum[%k] : memref<15xf32>
      memref.store %s, %y[%r, %k] : memref<?x15xf32>
    }
  }
  return %y : memref<?x15xf32>
}

// Up to six elements are looked up one by one: a vector with a mask takes as long for one.

// CHECK-LABEL: func.func @few
// CHECK: scf.for
// CHECK: %[[FEW:.*]] = arith.cmpi sle, %{{.*}}, %c6
// CHECK: scf.if %[[FEW]]
// CHECK: memref.load %{{.*}} : memref<?x16xf32>
// CHECK: } {llvm.loop_annotation
// CHECK: else
// CHECK: vector.gather
func.func @few(%x: memref<?x16xf32> {llvm.noalias}, %ids: memref<?xindex> {llvm.noalias}, %y: memref<?x?xf32> {llvm.noalias}, %n: index, %count: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %r = %c0 to %n step %c1 {
    scf.for %k = %c0 to %count step %c1 {
      %at = memref.load %ids[%k] : memref<?xindex>
      %a = memref.load %x[%r, %at] : memref<?x16xf32>
      memref.store %a, %y[%r, %k] : memref<?x?xf32>
    }
  }
  return
}

// Three registers and nothing behind them.

// CHECK-LABEL: func.func @whole
// CHECK: scf.for %{{.*}} = %c0 to %c48 step %c16
// CHECK-NOT: vector.maskedload
// CHECK: return
func.func @whole(%x: memref<?x48xf32>, %n: index, %size: index) -> memref<?x48xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c48 = arith.constant 48 : index
  %y = memref.alloc(%size) : memref<?x48xf32>
  scf.for %r = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c48 step %c1 {
      %a = memref.load %x[%r, %k] : memref<?x48xf32>
      %p = math.absf %a : f32
      memref.store %p, %y[%r, %k] : memref<?x48xf32>
    }
  }
  return %y : memref<?x48xf32>
}
