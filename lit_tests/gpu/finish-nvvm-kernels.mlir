// RUN: ragged-opt %s --finish-nvvm-kernels | FileCheck %s

// CHECK: #[[LOOP:.*]] = #llvm.loop_annotation<unroll = #{{.*}}>
// CHECK: gpu.module @kernels attributes {llvm.data_layout = "e-{{.*}}i64:64{{.*}}", llvm.target_triple = "nvptx64-nvidia-cuda"}
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @kernel
  // CHECK: llvm.br ^bb1({{.*}}) {loop_annotation = #[[LOOP]]}
  // CHECK: llvm.atomicrmw add {{.*}} syncscope("device") monotonic : !llvm.ptr, i32
  // CHECK: llvm.cmpxchg {{.*}} syncscope("device") monotonic monotonic : !llvm.ptr, i32
  llvm.func @kernel(%n: i32, %p: !llvm.ptr) attributes {nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    llvm.br ^bb1(%c0 : i32)
  ^bb1(%i: i32):
    %more = llvm.icmp "slt" %i, %n : i32
    llvm.cond_br %more, ^bb2, ^bb3
  ^bb2:
    %next = llvm.add %i, %c1 : i32
    llvm.br ^bb1(%next : i32) {llvm.loop_annotation = #llvm.loop_annotation<unroll = <count = 4 : i32>>}
  ^bb3:
    %old = llvm.atomicrmw add %p, %n acq_rel : !llvm.ptr, i32
    %swapped = llvm.cmpxchg %p, %old, %n acq_rel monotonic : !llvm.ptr, i32
    llvm.return
  }

  // Amounts that have 64 bits, or had them.
  // CHECK-LABEL: llvm.func @shifts
  // CHECK-SAME: (%[[X:.*]]: i64, %[[Y:.*]]: i16, %[[N:.*]]: i64)
  // CHECK: %[[MASKED:.*]] = llvm.and %[[N]], %{{.*}} : i64
  // CHECK: llvm.shl %[[X]], %[[MASKED]] : i64
  // CHECK: %[[CUT:.*]] = llvm.trunc %[[N]] : i64 to i16
  // CHECK: %[[MOST:.*]] = llvm.mlir.constant(15 : i16) : i16
  // CHECK: %[[SHORT:.*]] = llvm.and %[[CUT]], %[[MOST]] : i16
  // CHECK: llvm.lshr %[[Y]], %[[SHORT]] : i16
  // CHECK-NOT: llvm.and
  llvm.func @shifts(%x: i64, %y: i16, %n: i64) {
    %c3 = llvm.mlir.constant(3 : i64) : i64
    %0 = llvm.shl %x, %n : i64
    %m = llvm.trunc %n : i64 to i16
    %1 = llvm.lshr %y, %m : i16
    %2 = llvm.shl %x, %c3 : i64
    %3 = llvm.lshr %y, %y : i16
    %4 = llvm.ashr %x, %n : i64
    llvm.return
  }
  // Every amount below the width keeps its bits.
  // CHECK-LABEL: llvm.func @odd
  // CHECK: %[[MOST:.*]] = llvm.mlir.constant(31 : i24) : i24
  // CHECK: %[[AMOUNT:.*]] = llvm.and %{{.*}}, %[[MOST]] : i24
  // CHECK: llvm.shl %{{.*}}, %[[AMOUNT]] : i24
  llvm.func @odd(%x: i24, %n: i64) {
    %m = llvm.trunc %n : i64 to i24
    %0 = llvm.shl %x, %m : i24
    llvm.return
  }
}
