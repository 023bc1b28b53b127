// RUN: ragged-opt %s --split-input-file --vectorize-ragged-products="isa=amxbf16" --canonicalize --cse | FileCheck %s
// RUN: ragged-opt %s --split-input-file --vectorize-ragged-products="isa=amxbf16 amx=false" | FileCheck %s --check-prefix=PAIRS

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// Rows of the left side are copied to tiles of 16 rows of 16 pairs, two rows of the right side are one of pairs, and the
// last tile has zeros behind them. A block of sums is two times two tiles. Where numbers may be too small for the
// instruction, vectors add in its order: first and second products apart, 16 of each.

// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[X:.*]]: memref<?x40xbf16>, %[[W:.*]]: memref<40x32xbf16>, %[[O:.*]]: memref<?x32xf32>)
// CHECK-DAG: %[[SHAPES:.*]] = arith.constant dense<[1, 0, 0, 0, 4194368, 4194368, 4194368, 4194368, 0, 0, 0, 0, 269488144, 269488144, 0, 0]> : vector<16xi32>
// CHECK: vector.store %[[SHAPES]]
// CHECK: llvm.inline_asm has_side_effects "ldtilecfg ($0)", "r,~{memory}"
// CHECK: %[[TILES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<2048x16xi32>
// CHECK: %[[PANEL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x32xi32>
// CHECK: %[[ROW:.*]] = vector.maskedload %[[X]]{{.*}} into vector<32xbf16>
// CHECK: %[[TWOS:.*]] = vector.bitcast %[[ROW]] : vector<32xbf16> to vector<16xi32>
// CHECK: vector.store %[[TWOS]], %[[TILES]]
// CHECK: vector.interleave
// CHECK: vector.store %{{.*}}, %[[PANEL]]
// CHECK: scf.for %{{.*}} = %c20 to %c32
// CHECK: vector.store %cst{{.*}}, %[[PANEL]]
// CHECK: scf.if
// CHECK: llvm.inline_asm has_side_effects "tilezero %tmm0\0Atilezero %tmm1\0Atilezero %tmm2\0Atilezero %tmm3"
// CHECK: scf.for %{{.*}} = %c0 to %c2
// CHECK: tileloadd 0($0,$2,1), %tmm4\0Atileloadd 2048($0,$2,1), %tmm5\0Atileloadd 0($1,$3,1), %tmm6\0Atileloadd 64($1,$3,1), %tmm7
// CHECK-SAME: tdpbf16ps %tmm6, %tmm4, %tmm0\0Atdpbf16ps %tmm7, %tmm4, %tmm1\0Atdpbf16ps %tmm6, %tmm5, %tmm2\0Atdpbf16ps %tmm7, %tmm5, %tmm3
// CHECK: tilestored %tmm0, 0($0,$1,1)\0Atilestored %tmm1, 64($0,$1,1)\0Atilestored %tmm2, 2048($0,$1,1)\0Atilestored %tmm3, 2112($0,$1,1)
// CHECK: vector.store %{{.*}}, %[[O]]
// CHECK: } else {
// CHECK: %[[APART:.*]]:2 = scf.for %{{.*}} = %c0 to %c16
// CHECK: math.fma
// CHECK: math.fma
// CHECK: arith.addf %[[APART]]#0, %[[APART]]#1
// CHECK: llvm.inline_asm has_side_effects "tilerelease"
// CHECK: return
// PAIRS-LABEL: func.func @rows
// PAIRS-NOT: tile
// PAIRS: vdpbf16ps
func.func @rows(%x: memref<?x40xbf16>, %w: memref<40x32xbf16>, %o: memref<?x32xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x40xbf16>, memref<40x32xbf16>) outs(%o : memref<?x32xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %wide_a = arith.extf %a : bf16 to f32
    %wide_b = arith.extf %b : bf16 to f32
    %p = arith.mulf %wide_a, %wide_b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (k, m)>
#w = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// A left side that is across memory in the sums is turned, as pairs of two of its rows. Tiles are shaped once for the
// loops around, up to one with a call.

// CHECK-LABEL: func.func @across
// CHECK: scf.for
// CHECK-NEXT: func.call @other
// CHECK: ldtilecfg
// CHECK: scf.for
// CHECK-NOT: ldtilecfg
// CHECK: vector.interleave %{{.*}}, %{{.*}} : vector<16xi16> -> vector<32xi16>
// CHECK: vector.shuffle {{.*}} : vector<16xi32>, vector<16xi32>
// CHECK: tdpbf16ps
// CHECK: tilerelease
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func private @other()

func.func @across(%x: memref<?x20xbf16>, %w: memref<?x32xbf16>, %o: memref<20x32xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    func.call @other() : () -> ()
    scf.for %i = %c0 to %n step %c1 {
      linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%x, %w : memref<?x20xbf16>, memref<?x32xbf16>) outs(%o : memref<20x32xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %wide_a = arith.extf %a : bf16 to f32
        %wide_b = arith.extf %b : bf16 to f32
        %p = arith.mulf %wide_b, %wide_a : f32
        %s = arith.addf %p, %c : f32
        linalg.yield %s : f32
      }
    }
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (k, m)>
#w = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// So they are up to a loop in which tiles are freed, as attention does.

// CHECK-LABEL: func.func @freed
// CHECK: scf.for
// CHECK-NEXT: llvm.inline_asm has_side_effects "tilerelease"
// CHECK: ldtilecfg
// CHECK: scf.for
// CHECK-NOT: ldtilecfg
// CHECK: tdpbf16ps
// CHECK: tilerelease
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @freed(%x: memref<?x20xbf16>, %w: memref<?x32xbf16>, %o: memref<20x32xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    llvm.inline_asm has_side_effects "tilerelease", "~{memory}" : () -> ()
    scf.for %i = %c0 to %n step %c1 {
      linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%x, %w : memref<?x20xbf16>, memref<?x32xbf16>) outs(%o : memref<20x32xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %wide_a = arith.extf %a : bf16 to f32
        %wide_b = arith.extf %b : bf16 to f32
        %p = arith.mulf %wide_b, %wide_a : f32
        %s = arith.addf %p, %c : f32
        linalg.yield %s : f32
      }
    }
  }
  return
}
