// RUN: ragged-opt %s --convert-ragged-to-scf="isa=amxbf16" | FileCheck %s
// RUN: ragged-opt %s --convert-ragged-to-scf="isa=amxbf16 amx=false" | FileCheck %s --check-prefix=LANES
// RUN: ragged-opt %s --convert-ragged-to-scf="isa=avx512bf16" | FileCheck %s --check-prefix=LANES

!q = tensor<3x?x4x64xbf16, #ragged.layout<"dr|d|d">>
!k = tensor<3x?x2x64xbf16, #ragged.layout<"dr|d|d">>

// Queries are pairs along lanes, and a tile of keys are rows: scores are their products, 32 times 32 at a time. Weights
// are rounded to pairs of bf16, and values, which are turned, times these are added to what was there. Where the
// instruction would take numbers for zeros, or values are not finite, all is as with lanes.

// CHECK-LABEL: func.func @attention
// CHECK: scf.forall
// CHECK: llvm.inline_asm has_side_effects "ldtilecfg ($0)"
// CHECK: vector.shuffle {{.*}} : vector<16xi32>, vector<16xi32>
// CHECK: scf.if
// CHECK: tdpbf16ps
// CHECK: arith.shrui %{{.*}} : vector<32xi32>
// CHECK: tdpbf16ps
// CHECK: } else {
// CHECK: arith.extf
// CHECK-NOT: tdpbf16ps
// CHECK: llvm.inline_asm has_side_effects "tilerelease"
// CHECK: scf.forall.in_parallel
// LANES-LABEL: func.func @attention
// LANES-NOT: tdpbf16ps
func.func @attention(%q: !q, %k: !k, %v: !k) -> !q {
  %o, %lse = ragged.attention %q, %k, %v {scale = 1.0, keys = "causal"} : (!q, !k, !k) -> (!q, tensor<3x?x4xf32, #ragged.layout<"dr|d">>)
  return %o : !q
}
