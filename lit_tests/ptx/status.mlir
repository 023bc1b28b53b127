// RUN: ragged-translate --to=ptx --arch=sm_90 %s | FileCheck %s

// Every kernel loads the status first, and does nothing when a check has failed before it.

// CHECK-LABEL: .visible .entry scale_0(
// CHECK-LABEL: .visible .entry scale_1(
// CHECK-LABEL: .visible .entry scale_2(
// CHECK: ld.global.nc.b64 [[STATUS:%rd[0-9]+]], [%{{.*}}];
// CHECK-NEXT: setp.ne.b64 [[FAILED:%p[0-9]+]], [[STATUS]], 0;
// CHECK-NEXT: @[[FAILED]] bra [[END:[$].*]];
// CHECK: ld.global.nc.v4.b32
// CHECK: st.global.v4.b32
// CHECK: [[END]]:
// CHECK-NEXT: {{.*}}ret;

func.func @scale(%values: tensor<?x64xf32>, %offsets: tensor<?xi64>) -> tensor<?x64xf32> {
  %x = ragged.partition %values, %offsets {dim = 0}
      : (tensor<?x64xf32>, tensor<?xi64>) -> tensor<?x?x64xf32, #ragged.layout<"dr|d">>
  %y = arith.addf %x, %x : tensor<?x?x64xf32, #ragged.layout<"dr|d">>
  %flat = ragged.merge %y {dim = 0} : (tensor<?x?x64xf32, #ragged.layout<"dr|d">>) -> tensor<?x64xf32>
  return %flat : tensor<?x64xf32>
}
