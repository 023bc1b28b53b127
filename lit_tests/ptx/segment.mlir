// RUN: ragged-translate --to=ptx --arch=sm_90 --no-check %s | FileCheck %s

// A block finds its component in two offsets, walks over the rows with four wide loads in flight, and combines
// warps through shared memory.

// CHECK-LABEL: .visible .entry softmax_1(
// CHECK: .maxntid 256, 1, 1
// CHECK: .shared
// CHECK: mov.u32 %{{.*}}, %ctaid.x;
// CHECK: ld.global.nc.b64
// CHECK-NEXT: ld.global.nc.b64
// CHECK: ld.global.nc.v4.b32
// CHECK-NEXT: ld.global.nc.v4.b32
// CHECK-NEXT: ld.global.nc.v4.b32
// CHECK-NEXT: ld.global.nc.v4.b32
// CHECK: shfl.sync.bfly.b32 %{{.*}}, 16, 31, -1;
// CHECK: st.shared.b32
// CHECK: bar.sync 0;
// CHECK: ld.shared.b32
// CHECK: ex2.approx.ftz.f32
// CHECK: st.global.v4.b32

#l = #ragged.layout<"dr|d">
func.func @softmax(%x: tensor<?x?x64xf32, #l>) -> tensor<?x?x64xf32, #l> {
  %room = ragged.empty %x : (tensor<?x?x64xf32, #l>) -> tensor<?x?x64xf32, #l>
  %y = linalg.softmax dimension(1) ins(%x : tensor<?x?x64xf32, #l>) outs(%room : tensor<?x?x64xf32, #l>)
      -> tensor<?x?x64xf32, #l>
  return %y : tensor<?x?x64xf32, #l>
}
