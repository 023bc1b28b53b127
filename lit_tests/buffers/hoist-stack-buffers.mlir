// RUN: ragged-opt %s --allow-unregistered-dialect --hoist-stack-buffers | FileCheck %s

// CHECK-LABEL: func.func @loop
// CHECK-NEXT: %[[A:.*]] = memref.alloca() : memref<64xf32>
// CHECK: scf.for
// CHECK-NOT: memref.alloca
// CHECK: memref.load %[[A]]
func.func @loop(%n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {
    %a = memref.alloca() : memref<64xf32>
    %x = memref.load %a[%i] : memref<64xf32>
    scf.yield %x : f32
  }
  return %s : f32
}

// A size that the loop computes stays where it is.
// CHECK-LABEL: func.func @dynamic
// CHECK: scf.for %[[I:.*]] =
// CHECK: memref.alloca(%[[I]])
func.func @dynamic(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.alloca(%i) : memref<?xf32>
    "test.use"(%a) : (memref<?xf32>) -> ()
  }
  return
}
