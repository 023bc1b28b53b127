// RUN: ragged-opt %s --settle-ragged-roundings=isa=avx2 | FileCheck %s
// RUN: ragged-opt %s --settle-ragged-roundings=isa=sse | FileCheck %s --check-prefix=SSE

// SSE-NOT: math.fma

// CHECK: #[[UNROLL:.*]] = #llvm.loop_unroll<disable = true>
// CHECK: #[[NOT_UNROLLED:.*]] = #llvm.loop_annotation<unroll = #[[UNROLL]]>

// CHECK-LABEL: func.func @fused
// CHECK-SAME: (%[[A:.*]]: f32, %[[B:.*]]: f32, %[[C:.*]]: f32)
// CHECK-NEXT: %[[SUM:.*]] = math.fma %[[A]], %[[B]], %[[C]] : f32
// CHECK-NEXT: %[[MINUS:.*]] = arith.negf %[[C]] : f32
// CHECK-NEXT: %[[LEFT:.*]] = math.fma %[[A]], %[[B]], %[[MINUS]] : f32
// CHECK-NEXT: %[[NEGATED:.*]] = arith.negf %[[A]] : f32
// CHECK-NEXT: %[[RIGHT:.*]] = math.fma %[[NEGATED]], %[[B]], %[[C]] : f32
// CHECK-NEXT: return %[[SUM]], %[[LEFT]], %[[RIGHT]]
func.func @fused(%a: f32, %b: f32, %c: f32) -> (f32, f32, f32) {
  %p = arith.mulf %a, %b fastmath<contract> : f32
  %sum = arith.addf %c, %p fastmath<contract> : f32
  %q = arith.mulf %a, %b fastmath<contract> : f32
  %left = arith.subf %q, %c fastmath<contract> : f32
  %r = arith.mulf %a, %b fastmath<contract> : f32
  %right = arith.subf %c, %r fastmath<contract> : f32
  return %sum, %left, %right : f32, f32, f32
}

// What may be done in any way at all may be fused.
// CHECK-LABEL: func.func @fast
// CHECK: scf.for
// CHECK-NEXT: math.fma
func.func @fast(%a: f32, %b: f32, %c: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %c) -> f32 {
    %p = arith.mulf %a, %b fastmath<fast> : f32
    %s = arith.addf %acc, %p fastmath<fast> : f32
    scf.yield %s : f32
  }
  return %sum : f32
}

// A product that others read, and one that may not be fused, stay.
// CHECK-LABEL: func.func @products
// CHECK-NOT: math.fma
func.func @products(%a: f32, %b: f32, %c: f32) -> (f32, f32, f32) {
  %p = arith.mulf %a, %b fastmath<contract> : f32
  %sum = arith.addf %p, %c fastmath<contract> : f32
  %q = arith.mulf %a, %b : f32
  %other = arith.addf %q, %c fastmath<contract> : f32
  return %p, %sum, %other : f32, f32, f32
}

// Sums of few terms are in order; of many LLVM makes vectors, which takes sums, and leave to regroup them.
// CHECK-LABEL: func.func @sums
// CHECK: memref.load
// CHECK: math.fma
// CHECK: memref.load
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<{{(reassoc,contract|contract,reassoc)}}> : f32
// SSE-LABEL: func.func @sums
// SSE: arith.addf %{{.*}}, %{{.*}} fastmath<contract> : f32
// SSE: arith.addf %{{.*}}, %{{.*}} fastmath<{{(reassoc,contract|contract,reassoc)}}> : f32
func.func @sums(%x: memref<?xf32>, %n: index, %zero: f32) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %few = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> f32 {
    %e = memref.load %x[%i] : memref<?xf32>
    %p = arith.mulf %e, %e fastmath<contract> : f32
    %s = arith.addf %acc, %p fastmath<reassoc,contract> : f32
    scf.yield %s : f32
  }
  %many = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> f32 {
    %e = memref.load %x[%i] : memref<?xf32>
    %p = arith.mulf %e, %e fastmath<contract> : f32
    %s = arith.addf %acc, %p fastmath<reassoc,contract> : f32
    scf.yield %s : f32
  }
  return %few, %many : f32, f32
}

// More terms than LLVM has to unroll stay in a loop.
// CHECK-LABEL: func.func @static
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc> : f32
// CHECK: llvm.loop_annotation = #[[NOT_UNROLLED]]
func.func @static(%x: memref<?xf32>, %zero: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %sum = scf.for %i = %c0 to %c9 step %c1 iter_args(%acc = %zero) -> f32 {
    %e = memref.load %x[%i] : memref<?xf32>
    %s = arith.addf %acc, %e fastmath<reassoc> : f32
    scf.yield %s : f32
  }
  return %sum : f32
}

// There is no such instruction for other types.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: math.fma
// CHECK: return
func.func @wide(%a: f80, %b: f80, %c: f80) -> f80 {
  %p = arith.mulf %a, %b fastmath<contract> : f80
  %s = arith.addf %p, %c fastmath<contract> : f80
  return %s : f80
}

// Vectors are made.
// CHECK-LABEL: func.func @vectors
// CHECK: math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<8xf32>
func.func @vectors(%a: vector<8xf32>, %b: vector<8xf32>, %c: vector<8xf32>) -> vector<8xf32> {
  %p = arith.mulf %a, %b fastmath<contract> : vector<8xf32>
  %s = arith.addf %c, %p fastmath<reassoc,contract> : vector<8xf32>
  return %s : vector<8xf32>
}

// Products of few factors are in order.
// CHECK-LABEL: func.func @factors
// CHECK: arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NOT: reassoc
// CHECK: return
func.func @factors(%x: memref<?xf32>, %one: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %product = scf.for %i = %c0 to %c5 step %c1 iter_args(%acc = %one) -> f32 {
    %e = memref.load %x[%i] : memref<?xf32>
    %p = arith.mulf %acc, %e fastmath<reassoc> : f32
    scf.yield %p : f32
  }
  return %product : f32
}
