// RUN: ragged-opt %s --split-input-file --expand-ragged-math=isa=avx2 | FileCheck %s

// f32 polynomials are plain arith ops, wherever the op stands.

// CHECK-LABEL: func.func @softmax_numerator
// CHECK: linalg.generic
// CHECK: ^bb0(%[[X:.*]]: f32, %[[M:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[D:.*]] = arith.subf %[[X]], %[[M]] : f32
// CHECK-NOT: math.exp
// CHECK-NOT: call
// CHECK: %[[NOTHING:.*]] = arith.cmpf olt, %[[D]]
// CHECK: arith.select %[[NOTHING]], %{{.*}}, %[[D]]
// CHECK: arith.mulf {{.*}} fastmath<contract> : f32
// CHECK: %[[BITS:.*]] = arith.bitcast {{.*}} : f32 to i32
// CHECK: arith.shrui %[[BITS]]
// CHECK: arith.mulf {{.*}} fastmath<contract> : f32
// CHECK: %[[E:.*]] = arith.mulf {{.*}} fastmath<contract> : f32
// CHECK-NEXT: %[[R:.*]] = arith.select %[[NOTHING]], %{{.*}}, %[[E]]
// CHECK-NEXT: linalg.yield %[[R]] : f32
func.func @softmax_numerator(%x: memref<?xf32>, %max: memref<?xf32>, %out: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (0)>, affine_map<(i) -> (i)>],
                  iterator_types = ["parallel"]}
      ins(%x, %max : memref<?xf32>, memref<?xf32>) outs(%out : memref<?xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %d = arith.subf %a, %m : f32
    %e = math.exp %d : f32
    linalg.yield %e : f32
  }
  return
}

// -----

// f16 is computed in f32.

// CHECK-LABEL: func.func @half
// CHECK-SAME: (%[[X:.*]]: f16)
// CHECK: %[[W:.*]] = arith.extf %[[X]] : f16 to f32
// CHECK: %[[R:.*]] = math.sqrt %[[W]] : f32
// CHECK: %[[N:.*]] = arith.truncf %[[R]] : f32 to f16
// CHECK: return %[[N]]
func.func @half(%x: f16) -> f16 {
  %y = math.sqrt %x : f16
  return %y : f16
}

// -----

// A huge argument of sin is a library call behind a branch.

// CHECK-LABEL: func.func @sine
// CHECK-SAME: (%[[X:.*]]: f32)
// CHECK: %[[R:.*]] = scf.if
// CHECK: scf.yield
// CHECK: } else {
// CHECK: %[[C:.*]] = llvm.call @__ragged_sinf(%[[X]]) : (f32) -> f32
// CHECK: scf.yield %[[C]] : f32
// CHECK: return %[[R]] : f32
// CHECK: llvm.func @sinf(f32) -> f32
// CHECK: llvm.func internal @__ragged_sinf_v16(%{{.*}}: vector<16xf32>, %{{.*}}: vector<16xi1>) -> vector<16xf32>
// CHECK: _ZGV_LLVM_M16v___ragged_sinf(__ragged_sinf_v16)
func.func @sine(%x: f32) -> f32 {
  %y = math.sin %x : f32
  return %y : f32
}

// -----

// f64 functions have vector variants, which the module keeps alive.

// CHECK-LABEL: func.func @double
// CHECK: llvm.call @__ragged_erfc(%{{.*}}) : (f64) -> f64
// CHECK: llvm.func @_ZGVdN4v_erfc(vector<4xf64>) -> vector<4xf64>
// CHECK: llvm.func internal @__ragged_erfc_v2(
// CHECK: llvm.call @_ZGVdN4v_erfc
// CHECK: llvm.func internal @__ragged_erfc(%{{.*}}: f64) -> f64
// CHECK-SAME: _ZGV_LLVM_N2v___ragged_erfc(__ragged_erfc_v2),_ZGV_LLVM_N4v___ragged_erfc(_ZGVdN4v_erfc)
// CHECK: llvm.mlir.global appending @llvm.compiler.used
// CHECK: llvm.mlir.addressof @_ZGVdN4v_erfc
func.func @double(%x: f64) -> f64 {
  %z = math.erfc %x : f64
  return %z : f64
}

// -----

// What LLVM has natively stays, and so do integer ops.

// CHECK-LABEL: func.func @native
// CHECK: math.sqrt
// CHECK: math.ctpop
func.func @native(%x: f64, %n: i32) -> (f64, i32) {
  %y = math.sqrt %x : f64
  %m = math.ctpop %n : i32
  return %y, %m : f64, i32
}

// -----

// LLVM is told to use vectors for loops that it would take for too short, and left alone with others.

// CHECK-LABEL: func.func @short
// CHECK: scf.for
// CHECK: } {llvm.loop_annotation = #
// CHECK: scf.for
// CHECK-NOT: llvm.loop_annotation
// CHECK: return
func.func @short(%x: memref<16xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %a = memref.load %x[%i] : memref<16xf32>
    %e = math.exp %a : f32
    memref.store %e, %y[%i] : memref<16xf32>
  }
  scf.for %i = %c0 to %c16 step %c1 {
    %a = memref.load %x[%i] : memref<16xf32>
    %e = math.exp %a : f32
    memref.store %e, %y[%i] : memref<16xf32>
  }
  return
}

// -----

// No vector has a running sum.

// CHECK-LABEL: func.func @running
// CHECK: scf.for
// CHECK-NOT: llvm.loop_annotation
// CHECK: return
func.func @running(%x: memref<8xf32>, %sum: memref<1xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %a = memref.load %x[%i] : memref<8xf32>
    %e = math.exp %a : f32
    %s = memref.load %sum[%c0] : memref<1xf32>
    %r = arith.addf %s, %e : f32
    memref.store %r, %y[%i] : memref<8xf32>
    memref.store %r, %sum[%c0] : memref<1xf32>
  }
  return
}

// -----

// Remainders are exact where the quotient is: others are those of the library, which loops with the call behind a branch
// call for vectors. What has 16 bits goes through f32.

// CHECK-LABEL: func.func @remainders
// CHECK-SAME: (%[[X:[a-z0-9]+]]: f64, %[[Y:[a-z0-9]+]]: f64, %[[A:[a-z0-9]+]]: f16, %[[B:[a-z0-9]+]]: f16)
// CHECK: %[[Q:.*]] = arith.divf {{.*}} : f64
// CHECK: %[[WHOLE:.*]] = math.trunc %[[Q]] : f64
// CHECK: %[[MINUS:.*]] = arith.mulf %[[WHOLE]]
// CHECK: math.fma %[[MINUS]]
// CHECK: arith.cmpf olt, %[[WHOLE]], %{{.*}} : f64
// CHECK: scf.if
// CHECK: else
// CHECK: llvm.call @__ragged_fmod(%[[X]], %[[Y]]) : (f64, f64) -> f64
// CHECK: arith.extf %[[A]] : f16 to f32
// CHECK: math.fma {{.*}} : f32
// CHECK: llvm.call @__ragged_fmodf
// CHECK: arith.truncf {{.*}} : f32 to f16
// CHECK: llvm.func @fmod(f64, f64) -> f64
// CHECK: llvm.func internal @__ragged_fmod_v2(%{{.*}}: vector<2xf64>, %{{.*}}: vector<2xf64>, %{{.*}}: vector<2xi1>) -> vector<2xf64>
func.func @remainders(%x: f64, %y: f64, %a: f16, %b: f16) -> (f64, f16) {
  %0 = arith.remf %x, %y : f64
  %1 = arith.remf %a, %b : f16
  return %0, %1 : f64, f16
}

// -----

// Signs of short floats are bits.
// CHECK-LABEL: func.func @signs
// CHECK-SAME: (%[[X:.*]]: bf16, %[[Y:.*]]: bf16, %[[Z:.*]]: f16)
// CHECK-DAG: %[[A:.*]] = arith.bitcast %[[X]] : bf16 to i16
// CHECK-DAG: %[[B:.*]] = arith.bitcast %[[Y]] : bf16 to i16
// CHECK-DAG: %[[SIZE:.*]] = arith.andi %[[A]], %c32767_i16
// CHECK-DAG: %[[SIGN:.*]] = arith.andi %[[B]], %c-32768_i16
// CHECK: %[[BOTH:.*]] = arith.ori %[[SIZE]], %[[SIGN]]
// CHECK: arith.bitcast %[[BOTH]] : i16 to bf16
// CHECK: %[[C:.*]] = arith.bitcast %[[Z]] : f16 to i16
// CHECK: %[[D:.*]] = arith.andi %[[C]], %c32767_i16
// CHECK: arith.bitcast %[[D]] : i16 to f16
func.func @signs(%x: bf16, %y: bf16, %z: f16) -> (bf16, f16) {
  %a = math.copysign %x, %y : bf16
  %b = math.absf %z : f16
  return %a, %b : bf16, f16
}

// -----

// Powers of e that f16 has need one scale, those of f32 two: its least numbers are those of no one scale.
// CHECK-LABEL: func.func @exp_of_half
// CHECK: arith.shli
// CHECK-NOT: arith.shli
// CHECK: arith.truncf
// CHECK: arith.shli
// CHECK: arith.shli
func.func @exp_of_half(%x: f16, %y: f32) -> (f16, f32) {
  %a = math.exp %x : f16
  %b = math.exp %y : f32
  return %a, %b : f16, f32
}
