// RUN: ragged-translate --to=ptx --arch=sm_90 --no-check %s | FileCheck %s

// The offsets of the result come from a running sum, whose warps add up by shuffles; the scores from a loop over
// two ragged levels.

// CHECK-LABEL: .visible .entry scores_0(
// CHECK: .maxntid 256, 1, 1
// CHECK: shfl.sync.up.b32 %{{.*}}, 1, 0, -1;
// CHECK: shfl.sync.up.b32 %{{.*}}, 16, 0, -1;
// CHECK: bar.sync 0;
// CHECK: ld.global.nc.v4.b32
// CHECK-NEXT: ld.global.nc.v4.b32
// CHECK: fma.rn.f32
// CHECK: st.global.b32

#l = #ragged.layout<"dr|d">
#s = #ragged.layout<"drr">
func.func @scores(%q: tensor<?x?x8xf32, #l>, %k: tensor<?x?x8xf32, #l>) -> tensor<?x?x?xf32, #s> {
  %zero = arith.constant 0.0 : f32
  %room = ragged.empty %q, %k {from = [[0, 0], [0, 1], [1, 1]]}
      : (tensor<?x?x8xf32, #l>, tensor<?x?x8xf32, #l>) -> tensor<?x?x?xf32, #s>
  %zeros = linalg.fill ins(%zero : f32) outs(%room : tensor<?x?x?xf32, #s>) -> tensor<?x?x?xf32, #s>
  %scores = linalg.generic {indexing_maps = [affine_map<(b, i, j, d) -> (b, i, d)>,
      affine_map<(b, i, j, d) -> (b, j, d)>, affine_map<(b, i, j, d) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<?x?x8xf32, #l>, tensor<?x?x8xf32, #l>) outs(%zeros : tensor<?x?x?xf32, #s>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %m = arith.mulf %x, %y : f32
    %r = arith.addf %sum, %m : f32
    linalg.yield %r : f32
  } -> tensor<?x?x?xf32, #s>
  return %scores : tensor<?x?x?xf32, #s>
}
