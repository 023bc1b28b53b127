// RUN: ragged-opt %s --split-input-file --expand-ragged-floats=half=soft | FileCheck %s

// f64 is rounded to odd, then as f32 to f16.

// CHECK-LABEL: func.func @twice
// CHECK-SAME: (%[[X:.*]]: f64)
// CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : f64 to i64
// CHECK: %[[CUT:.*]] = arith.andi %[[BITS]], %{{.*}} : i64
// CHECK: %[[CARRY:.*]] = arith.addi %[[CUT]], %{{.*}} : i64
// CHECK: %[[STICKY:.*]] = arith.andi %[[CARRY]], %{{.*}} : i64
// CHECK: %[[ALL:.*]] = arith.ori %[[BITS]], %[[STICKY]] : i64
// CHECK: %[[ODD:.*]] = arith.andi %[[ALL]], %{{.*}} : i64
// CHECK: %[[WIDE:.*]] = arith.bitcast %[[ODD]] : i64 to f64
// CHECK: %[[SINGLE:.*]] = arith.truncf %[[WIDE]] : f64 to f32
// CHECK: arith.bitcast %[[SINGLE]] : f32 to i32
// CHECK-NOT: arith.truncf
// CHECK: %[[R:.*]] = arith.bitcast %{{.*}} : i16 to f16
// CHECK: return %[[R]] : f16
func.func @twice(%x: f64) -> f16 {
  %y = arith.truncf %x : f64 to f16
  return %y : f16
}

// -----

// CHECK-LABEL: func.func @wider
// CHECK-NOT: f16 to f64
// CHECK: %[[R:.*]] = arith.extf %{{.*}} : f32 to f64
// CHECK: return %[[R]] : f64
func.func @wider(%x: f16) -> f64 {
  %y = arith.extf %x : f16 to f64
  return %y : f64
}

// -----

// Where there is bf16 there is the function that rounds to it; flags that would let a rounding be dropped are removed.

// CHECK-LABEL: func.func @bfloat
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: func.func @__truncsfbf2(%{{.*}}: f32) -> bf16
func.func @bfloat(%x: f32) -> f32 {
  %y = arith.truncf %x fastmath<contract> : f32 to bf16
  %z = arith.extf %y fastmath<contract> : bf16 to f32
  return %z : f32
}

// -----

// Vectors lane by lane.

// CHECK-LABEL: func.func @lanes
// CHECK: arith.bitcast %{{.*}} : vector<4xf16> to vector<4xi16>
// CHECK: arith.bitcast %{{.*}} : vector<4xi16> to vector<4xf16>
// CHECK-NOT: arith.truncf
func.func @lanes(%x: vector<4xf16>) -> vector<4xf16> {
  %y = arith.extf %x : vector<4xf16> to vector<4xf32>
  %z = arith.truncf %y : vector<4xf32> to vector<4xf16>
  return %z : vector<4xf16>
}
