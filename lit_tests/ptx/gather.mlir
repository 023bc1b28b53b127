// RUN: ragged-translate --to=ptx --arch=sm_90 --no-check %s | FileCheck %s

// A thread knows the places of four pieces of rows before it loads the pieces.

// CHECK-LABEL: .visible .entry rows_0(
// CHECK: ld.global.nc.b64
// CHECK-NEXT: ld.global.nc.b64
// CHECK-NEXT: ld.global.nc.b64
// CHECK-NEXT: ld.global.nc.b64
// CHECK: ld.global.nc.v4.b32
// CHECK: ld.global.nc.v4.b32
// CHECK: ld.global.nc.v4.b32
// CHECK: ld.global.nc.v4.b32
// CHECK-NEXT: st.global.v4.b32
// CHECK-NOT: bar.sync

func.func @rows(%x: tensor<?x64xf32>, %numbers: tensor<?xi64>, %room: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i, d) -> (i)>, affine_map<(i, d) -> (i, d)>],
      iterator_types = ["parallel", "parallel"]} ins(%numbers : tensor<?xi64>) outs(%room : tensor<?x64xf32>) {
  ^bb0(%number: i64, %b: f32):
    %at = arith.index_cast %number : i64 to index
    %feature = linalg.index 1 : index
    %r = tensor.extract %x[%at, %feature] : tensor<?x64xf32>
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
