// RUN: ragged-opt %s --split-input-file --vectorize-ragged-products="isa=avx512bf16" --canonicalize --cse | FileCheck %s
// RUN: ragged-opt %s --split-input-file --vectorize-ragged-products="isa=avx512" | FileCheck %s --check-prefix=NONE

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// Two rows of the right side are one of pairs, and a pair of the left side meets each. Where an element but zero is so
// small that a product may be below the smallest normal number, they are fused multiply-adds, of the second halves
// first, as in the instruction. Processors without it have the loops that come later.

// CHECK-LABEL: func.func @pairs
// CHECK-SAME: (%[[X:.*]]: memref<?x16xbf16>, %[[W:.*]]: memref<16x32xbf16>, %[[O:.*]]: memref<?x32xf32>)
// CHECK-DAG: %[[MASK:.*]] = arith.constant dense<32767> : vector<32xi16>
// CHECK-DAG: %[[HIGH:.*]] = arith.constant dense<-65536> : vector<32xi32>
// CHECK-DAG: %[[SHIFT:.*]] = arith.constant dense<16> : vector<32xi32>
// CHECK: %[[PANEL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<16x32xi32>
// CHECK: vector.maskedload %[[X]]
// CHECK: arith.andi %{{.*}}, %[[MASK]] : vector<32xi16>
// CHECK: arith.minui
// CHECK: %[[LEFT:.*]] = arith.shrui
// CHECK: %[[EVEN:.*]] = vector.load %[[W]]
// CHECK: %[[ODD:.*]] = vector.load %[[W]]
// CHECK-DAG: %[[LOW:.*]] = vector.bitcast %[[EVEN]] : vector<32xbf16> to vector<32xi16>
// CHECK-DAG: %[[UP:.*]] = vector.bitcast %[[ODD]] : vector<32xbf16> to vector<32xi16>
// CHECK: %[[BOTH:.*]] = vector.interleave %[[LOW]], %[[UP]] : vector<32xi16> -> vector<64xi16>
// CHECK: %[[ROW:.*]] = vector.bitcast %[[BOTH]] : vector<64xi16> to vector<32xi32>
// CHECK: vector.store %[[ROW]], %[[PANEL]]
// CHECK: %[[RIGHT:.*]] = arith.shrui
// CHECK: %[[LEAST:.*]] = arith.minsi %[[LEFT]], %[[RIGHT]]
// CHECK: %[[FACTORS:.*]] = arith.cmpi sgt, %[[LEAST]], %c0
// CHECK: %[[SUM:.*]] = arith.addi %[[LEFT]], %[[RIGHT]]
// CHECK: %[[SUMS:.*]] = arith.cmpi sge, %[[SUM]], %c142
// CHECK: %[[NORMAL:.*]] = arith.andi %[[FACTORS]], %[[SUMS]]
// CHECK: scf.if %[[NORMAL]] {
// CHECK: %{{.*}}:8 = scf.for
// CHECK: %[[TWO:.*]] = vector.load %[[X]]{{.*}}, vector<2xbf16>
// CHECK: vector.bitcast %[[TWO]] : vector<2xbf16> to vector<1xi32>
// CHECK-COUNT-16: llvm.inline_asm "vdpbf16ps $3, $2, $0", "=v,0,v,v"
// CHECK: } else {
// CHECK: arith.andi %{{.*}}, %[[HIGH]]
// CHECK: math.fma
// CHECK: arith.shli %{{.*}}, %[[SHIFT]]
// CHECK: math.fma
// CHECK-NOT: llvm.inline_asm
// CHECK: return
// NONE-LABEL: func.func @pairs
// NONE: linalg.generic
func.func @pairs(%x: memref<?x16xbf16>, %w: memref<16x32xbf16>, %o: memref<?x32xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x16xbf16>, memref<16x32xbf16>) outs(%o : memref<?x32xf32>) {
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

// Of a left side that is across memory in the sums pairs are made of two rows of it, where a block has as many, else of
// two elements. Sums whose length is not known have a last step with one.

// CHECK-LABEL: func.func @across
// CHECK-SAME: (%[[X:.*]]: memref<?x20xbf16>
// CHECK: scf.if
// CHECK: %[[NO:.*]] = vector.bitcast %cst{{.*}} : vector<32xbf16> to vector<32xi16>
// CHECK: vector.interleave %{{.*}}, %[[NO]]
// CHECK: %[[SUMS:.*]]:8 = scf.for
// CHECK: %[[FIRST:.*]] = vector.load %[[X]]{{.*}}, vector<8xbf16>
// CHECK: %[[SECOND:.*]] = vector.load %[[X]]{{.*}}, vector<8xbf16>
// CHECK-DAG: %[[ONE:.*]] = vector.bitcast %[[FIRST]] : vector<8xbf16> to vector<8xi16>
// CHECK-DAG: %[[TWO:.*]] = vector.bitcast %[[SECOND]] : vector<8xbf16> to vector<8xi16>
// CHECK: %[[MIXED:.*]] = vector.interleave %[[ONE]], %[[TWO]]
// CHECK: vector.bitcast %[[MIXED]] : vector<16xi16> to vector<8xi32>
// CHECK: llvm.inline_asm
// CHECK: %{{.*}}:8 = scf.if
// CHECK: llvm.inline_asm
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[SUMS]]#0
// CHECK: %[[HALF:.*]]:4 = scf.for
// CHECK: %[[LOW:.*]] = arith.extui %{{.*}} : i16 to i32
// CHECK: %[[UP:.*]] = arith.extui %{{.*}} : i16 to i32
// CHECK: %[[MOVED:.*]] = arith.shli %[[UP]], %c16_i32
// CHECK: arith.ori %[[LOW]], %[[MOVED]]
// NONE-LABEL: func.func @across
func.func @across(%x: memref<?x20xbf16>, %w: memref<?x32xbf16>, %o: memref<20x32xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x20xbf16>, memref<?x32xbf16>) outs(%o : memref<20x32xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %wide_a = arith.extf %a : bf16 to f32
    %wide_b = arith.extf %b : bf16 to f32
    %p = arith.mulf %wide_b, %wide_a : f32
    %s = arith.addf %p, %c : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#o = affine_map<(m, n, k) -> (m, n)>

// A right side that is along memory in the sums has its pairs side by side, which are turned as integers. Few rows are
// not worth it. Halves of two bytes stay as they are.

// CHECK-LABEL: func.func @turned
// CHECK: scf.if
// CHECK: linalg.generic
// CHECK: } else {
// CHECK: vector.bitcast %{{.*}} : vector<32xbf16> to vector<16xi32>
// CHECK: vector.shuffle {{.*}} : vector<16xi32>, vector<16xi32>
// CHECK: llvm.inline_asm
// CHECK-LABEL: func.func @halves
// CHECK: linalg.generic
// NONE-LABEL: func.func @turned
func.func @turned(%x: memref<?x16xbf16>, %w: memref<32x16xbf16>, %o: memref<?x32xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x16xbf16>, memref<32x16xbf16>) outs(%o : memref<?x32xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %wide_a = arith.extf %a : bf16 to f32
    %wide_b = arith.extf %b : bf16 to f32
    %p = arith.mulf %wide_a, %wide_b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

func.func @halves(%x: memref<?x16xf16>, %w: memref<32x16xf16>, %o: memref<?x32xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x16xf16>, memref<32x16xf16>) outs(%o : memref<?x32xf32>) {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %wide_a = arith.extf %a : f16 to f32
    %wide_b = arith.extf %b : f16 to f32
    %p = arith.mulf %wide_a, %wide_b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}
