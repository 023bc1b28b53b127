// RUN: ragged-translate --to=ptx --arch=sm_80 --no-check %s | FileCheck %s

// A block finds the component of its tile by votes of a warp, and multiplies parts of both operands in shared memory
// while the next three are copied there. The loop begins with the wait, below its end in the text.

// CHECK-LABEL: .visible .entry products_0(
// CHECK: .maxntid 128, 1, 1
// CHECK: vote.sync.ballot.b32
// CHECK: cp.async.cg.shared.global
// CHECK: cp.async.commit_group;
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: cp.async.wait_group 2;
// CHECK-NEXT: bar.sync 0;
// CHECK: cp.async.cg.shared.global
// CHECK: st.global.v2.b32

#l = #ragged.layout<"dr|d">
#x = affine_map<(b, i, n, k) -> (b, i, k)>
#w = affine_map<(b, i, n, k) -> (b, k, n)>
#y = affine_map<(b, i, n, k) -> (b, i, n)>
func.func @products(%x: tensor<?x?x1024xf16, #l>, %w: tensor<?x1024x64xf16>) -> tensor<?x?x64xf32, #l> {
  %zero = arith.constant 0.0 : f32
  %e = ragged.empty %x, %w {from = [[0, 0], [0, 1], [1, 2]]}
      : (tensor<?x?x1024xf16, #l>, tensor<?x1024x64xf16>) -> tensor<?x?x64xf32, #l>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x64xf32, #l>) -> tensor<?x?x64xf32, #l>
  %y = linalg.generic {indexing_maps = [#x, #w, #y],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x?x1024xf16, #l>, tensor<?x1024x64xf16>) outs(%i : tensor<?x?x64xf32, #l>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.extf %b : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<?x?x64xf32, #l>
  return %y : tensor<?x?x64xf32, #l>
}
