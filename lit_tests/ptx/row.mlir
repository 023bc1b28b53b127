// RUN: ragged-translate --to=ptx --arch=sm_90 --no-check %s | FileCheck %s

// Sixteen threads sum a row of 64, four elements each, and then by shuffles: no shared memory, no atomics.

// CHECK-LABEL: .visible .entry row_sums_0(
// CHECK: .maxntid 256, 1, 1
// CHECK-NOT: .shared
// CHECK-NOT: atom.
// CHECK: ld.global.nc.v4.b32
// CHECK: shfl.sync.bfly.b32 %{{.*}}, 1, 31, -1;
// CHECK: shfl.sync.bfly.b32 %{{.*}}, 2, 31, -1;
// CHECK: shfl.sync.bfly.b32 %{{.*}}, 4, 31, -1;
// CHECK: shfl.sync.bfly.b32 %{{.*}}, 8, 31, -1;
// CHECK-NOT: shfl.sync.bfly.b32 %{{.*}}, 16, 31, -1;
// CHECK: st.global.b32

#l = #ragged.layout<"dr|d">
#s = #ragged.layout<"dr">
func.func @row_sums(%x: tensor<?x?x64xf32, #l>) -> tensor<?x?xf32, #s> {
  %zero = arith.constant 0.0 : f32
  %room = ragged.empty %x {from = [[0, 0], [0, 1]]} : (tensor<?x?x64xf32, #l>) -> tensor<?x?xf32, #s>
  %zeros = linalg.fill ins(%zero : f32) outs(%room : tensor<?x?xf32, #s>) -> tensor<?x?xf32, #s>
  %sums = linalg.reduce { arith.addf } ins(%x : tensor<?x?x64xf32, #l>) outs(%zeros : tensor<?x?xf32, #s>)
      dimensions = [2]
  return %sums : tensor<?x?xf32, #s>
}
