// RUN: ragged-translate --to=ptx --arch=sm_90 --no-check %s | FileCheck %s

// A group of threads walks over rows with eight wide loads in flight, whatever component they belong to; what a
// tile leaves open is kept, and a second kernel adds it up. No atomics: the order is always the same.

// CHECK-NOT: atom.
// CHECK-NOT: red.global
// CHECK-LABEL: .visible .entry sums_0(
// CHECK: .maxntid 256, 1, 1
// CHECK: ld.global.nc.v4.b32
// CHECK-NEXT: ld.global.nc.v4.b32
// CHECK-NEXT: ld.global.nc.v4.b32
// CHECK-NEXT: ld.global.nc.v4.b32
// CHECK-NEXT: ld.global.nc.v4.b32
// CHECK-NEXT: ld.global.nc.v4.b32
// CHECK-NEXT: ld.global.nc.v4.b32
// CHECK-NEXT: ld.global.nc.v4.b32
// CHECK: st.shared.b32
// CHECK: bar.sync 0;
// CHECK-NOT: atom.
// CHECK-NOT: red.global
// CHECK-LABEL: .visible .entry sums_0_carries(
// CHECK: ld.global.nc.v4.b32
// CHECK: st.global.v4.b32
// CHECK-NOT: atom.
// CHECK-NOT: red.global

#l = #ragged.layout<"dr|d">
func.func @sums(%x: tensor<?x?x64xf32, #l>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %components = tensor.dim %x, %c0 : tensor<?x?x64xf32, #l>
  %room = tensor.empty(%components) : tensor<?x64xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%room : tensor<?x64xf32>) -> tensor<?x64xf32>
  %sums = linalg.reduce { arith.addf } ins(%x : tensor<?x?x64xf32, #l>) outs(%zeros : tensor<?x64xf32>) dimensions = [1]
  return %sums : tensor<?x64xf32>
}
