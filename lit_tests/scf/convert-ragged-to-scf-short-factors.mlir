// RUN: ragged-opt %s --convert-ragged-to-scf="isa=avx512" | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: ragged-opt %s --convert-ragged-to-scf="isa=avx512bf16" | FileCheck %s --check-prefixes=CHECK,PAIRS

#x = affine_map<(b, i, n, k) -> (b, i, k)>
#w = affine_map<(b, i, n, k) -> (k, n)>
#o = affine_map<(b, i, n, k) -> (b, i, n)>

// Factors that are used more than once are made f32 before they are multiplied, but for bf16 where a processor has
// products of pairs of them.

// CHECK-LABEL: func.func @brains
// WIDE: linalg.generic {{.*}} ins(%{{.*}} : tensor<{{.*}}x16xbf16>) outs(%{{.*}} : tensor<{{.*}}x16xf32>)
// WIDE: linalg.generic {{.*}}"reduction"{{.*}} ins({{.*}} : tensor<{{.*}}xf32>, tensor<{{.*}}xf32>)
// PAIRS-NOT: outs(%{{.*}} : tensor<{{.*}}x16xf32>)
// PAIRS: linalg.generic {{.*}}"reduction"{{.*}} ins({{.*}} : tensor<{{.*}}xbf16>, tensor<{{.*}}xbf16>)
func.func @brains(%x: tensor<?x?x16xbf16, #ragged.layout<"dr|d">>, %w: tensor<16x32xbf16>, %o: tensor<?x?x32xf32, #ragged.layout<"dr|d">>) -> tensor<?x?x32xf32, #ragged.layout<"dr|d">> {
  %y = linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x?x16xbf16, #ragged.layout<"dr|d">>, tensor<16x32xbf16>) outs(%o : tensor<?x?x32xf32, #ragged.layout<"dr|d">>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %wide_a = arith.extf %a : bf16 to f32
    %wide_b = arith.extf %b : bf16 to f32
    %p = arith.mulf %wide_a, %wide_b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x?x32xf32, #ragged.layout<"dr|d">>
  return %y : tensor<?x?x32xf32, #ragged.layout<"dr|d">>
}

// Halves are made f32 in any case.

// CHECK-LABEL: func.func @halves
// CHECK: linalg.generic {{.*}}"reduction"{{.*}} ins({{.*}} : tensor<{{.*}}xf32>, tensor<{{.*}}xf32>)
func.func @halves(%x: tensor<?x?x16xf16, #ragged.layout<"dr|d">>, %w: tensor<16x32xf16>, %o: tensor<?x?x32xf32, #ragged.layout<"dr|d">>) -> tensor<?x?x32xf32, #ragged.layout<"dr|d">> {
  %y = linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x?x16xf16, #ragged.layout<"dr|d">>, tensor<16x32xf16>) outs(%o : tensor<?x?x32xf32, #ragged.layout<"dr|d">>) {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %wide_a = arith.extf %a : f16 to f32
    %wide_b = arith.extf %b : f16 to f32
    %p = arith.mulf %wide_b, %wide_a : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x?x32xf32, #ragged.layout<"dr|d">>
  return %y : tensor<?x?x32xf32, #ragged.layout<"dr|d">>
}
