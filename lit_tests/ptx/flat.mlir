// RUN: ragged-translate --to=ptx --arch=sm_90 --no-check %s | FileCheck %s

// A tile that is whole is straight-line code of wide accesses, all loads before the stores; one that is not
// goes element by element.

// CHECK: .target sm_90
// CHECK-LABEL: .visible .entry scale_0(
// CHECK: .maxntid 256, 1, 1
// CHECK-NEXT: .minnctapersm 4
// CHECK: ld.global.nc.b32
// CHECK: ld.global.nc.v4.b32
// CHECK-NEXT: ld.global.nc.v4.b32
// CHECK-NEXT: ld.global.nc.v4.b32
// CHECK-NEXT: ld.global.nc.v4.b32
// CHECK-NEXT: fma.rn.f32
// CHECK: st.global.v4.b32
// CHECK-NEXT: st.global.v4.b32
// CHECK-NEXT: st.global.v4.b32
// CHECK-NEXT: st.global.v4.b32

#l = #ragged.layout<"dr|d">
func.func @scale(%x: tensor<?x?x64xf32, #l>, %factor: f32) -> tensor<?x?x64xf32, #l> {
  %room = ragged.empty %x : (tensor<?x?x64xf32, #l>) -> tensor<?x?x64xf32, #l>
  %y = linalg.generic {indexing_maps = [affine_map<(b, i, d) -> (b, i, d)>, affine_map<(b, i, d) -> (b, i, d)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x?x64xf32, #l>) outs(%room : tensor<?x?x64xf32, #l>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %factor : f32
    %r = arith.addf %m, %a : f32
    linalg.yield %r : f32
  } -> tensor<?x?x64xf32, #l>
  return %y : tensor<?x?x64xf32, #l>
}
