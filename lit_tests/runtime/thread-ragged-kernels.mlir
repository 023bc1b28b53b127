// RUN: ragged-opt %s --thread-ragged-kernels --thread-ragged-kernels | FileCheck %s

// A kernel may say how many elements a thread takes at a time.
// CHECK-LABEL: llvm.func @h
// CHECK: %[[TILE:.*]] = llvm.mlir.constant(512 : i64)
// CHECK: llvm.call @ragged_share(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[TILE]], %{{.*}})
// A kernel is inlined into its task before LLVM optimises it, which it would do twice.
// CHECK: llvm.func internal @h_kernel0(
// CHECK-SAME: attributes {always_inline}
// CHECK-NOT: ragged.mapping
llvm.func @h(%n: i64, %work: i64, %p: !llvm.ptr) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  llvm.call @h_kernel0(%zero, %n, %work, %p) : (i64, i64, i64, !llvm.ptr) -> ()
  llvm.return
}
llvm.func @h_kernel0(%lo: i64, %hi: i64, %work: i64, %p: !llvm.ptr) attributes {ragged.kernel, ragged.mapping = {tile = 512 : i64}} {
  llvm.return
}

// What a kernel does not read is not handed to threads.
// CHECK-LABEL: llvm.func @f
// CHECK-SAME: (%[[N:.*]]: i64, %[[WORK:.*]]: i64, %[[P:.*]]: !llvm.ptr)
// CHECK: %[[C:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(ptr)>
// CHECK: llvm.store %[[P]], %{{.*}} : !llvm.ptr, !llvm.ptr
// CHECK: %[[TASK:.*]] = llvm.mlir.addressof @f_kernel0_task
// CHECK: %[[TILE:.*]] = llvm.mlir.constant(0 : i64)
// CHECK: %[[P:.*]] = llvm.mlir.addressof @ragged_threads
// CHECK: %[[THREADS:.*]] = llvm.load %[[P]]
// CHECK: llvm.call @ragged_share(%[[TASK]], %[[C]], %[[N]], %[[WORK]], %[[TILE]], %[[THREADS]])
// CHECK-NOT: llvm.call @f_kernel0(
// CHECK: llvm.return
llvm.func @f(%n: i64, %work: i64, %p: !llvm.ptr) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  llvm.call @f_kernel0(%zero, %n, %work, %n, %p) : (i64, i64, i64, i64, !llvm.ptr) -> ()
  llvm.return
}

// CHECK: llvm.func internal @f_kernel0(
llvm.func @f_kernel0(%lo: i64, %hi: i64, %work: i64, %stride: i64, %p: !llvm.ptr) attributes {ragged.kernel} {
  llvm.store %lo, %p : i64, !llvm.ptr
  llvm.return
}

// A kernel that another one calls with what it is given itself.
// CHECK-LABEL: llvm.func @nested
// CHECK: llvm.alloca %{{.*}} x !llvm.struct<(ptr, i64)>
llvm.func @nested(%n: i64, %work: i64, %p: !llvm.ptr) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  llvm.call @outer(%zero, %n, %work, %p, %n) : (i64, i64, i64, !llvm.ptr, i64) -> ()
  llvm.return
}
llvm.func @outer(%lo: i64, %hi: i64, %work: i64, %p: !llvm.ptr, %more: i64) attributes {ragged.kernel} {
  %zero = llvm.mlir.constant(0 : i64) : i64
  llvm.call @inner(%zero, %hi, %work, %p, %more) : (i64, i64, i64, !llvm.ptr, i64) -> ()
  llvm.return
}
llvm.func @inner(%lo: i64, %hi: i64, %work: i64, %p: !llvm.ptr, %more: i64) attributes {ragged.kernel} {
  llvm.store %lo, %p : i64, !llvm.ptr
  llvm.return
}

// CHECK: llvm.func @ragged_set_threads
// CHECK: llvm.func internal @f_kernel0_task(%[[Q:.*]]: !llvm.ptr, %[[LO:.*]]: i64, %[[HI:.*]]: i64)
// CHECK: %[[STRIDE:.*]] = llvm.mlir.zero : i64
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[Q]][0, 0]
// CHECK: %[[READ:.*]] = llvm.load %[[FIRST]]
// CHECK: llvm.call @f_kernel0(%[[LO]], %[[HI]], %{{.*}}, %[[STRIDE]], %[[READ]])

// Both have what the outer one captured.
// CHECK: llvm.func internal @outer_task(
// CHECK-COUNT-2: llvm.getelementptr %{{.*}}[0, {{[01]}}] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, i64)>

// Names that are no bare identifiers, and one that is taken.
// CHECK: llvm.func internal @"a b_task_1"(
// CHECK: llvm.call @"a b"(
llvm.func @g(%n: i64, %work: i64, %p: !llvm.ptr) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  llvm.call @"a b"(%zero, %n, %work, %p) : (i64, i64, i64, !llvm.ptr) -> ()
  llvm.return
}
llvm.func @"a b"(%lo: i64, %hi: i64, %work: i64, %p: !llvm.ptr) attributes {ragged.kernel} {
  llvm.return
}
llvm.func @"a b_task"()
