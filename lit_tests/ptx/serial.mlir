// RUN: ragged-translate --to=ptx --arch=sm_90 --no-check %s | FileCheck %s

// One thread, one element after the other, the sum in a register.

// CHECK-LABEL: .visible .entry recurrence_0(
// CHECK: .maxntid 1, 1, 1
// CHECK: ld.global.nc.b32 [[X:%r[0-9]+]]
// CHECK-NEXT: fma.rn.f32 [[Y:%r[0-9]+]], %{{r[0-9]+}}, [[Y]], [[X]];
// CHECK-NEXT: st.global.b32 [%{{.*}}], [[Y]];
// CHECK-NOT: bar.sync

func.func @recurrence(%x: tensor<?xf32>, %factor: f32) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %room = tensor.empty(%n) : tensor<?xf32>
  %y:2 = scf.for %i = %c0 to %n step %c1 iter_args(%out = %room, %last = %zero) -> (tensor<?xf32>, f32) {
    %a = tensor.extract %x[%i] : tensor<?xf32>
    %m = arith.mulf %last, %factor : f32
    %r = arith.addf %m, %a : f32
    %next = tensor.insert %r into %out[%i] : tensor<?xf32>
    scf.yield %next, %r : tensor<?xf32>, f32
  }
  return %y#0 : tensor<?xf32>
}
