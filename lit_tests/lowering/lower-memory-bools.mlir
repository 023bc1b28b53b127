// RUN: ragged-opt %s --lower-memory-bools | FileCheck %s

// CHECK-LABEL: llvm.func @host
// CHECK: %[[BYTE:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i8
// CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i8) : i8
// CHECK: %[[BIT:.*]] = llvm.icmp "ne" %[[BYTE]], %[[ZERO]] : i8
// CHECK: %[[WIDE:.*]] = llvm.zext %[[BIT]] : i1 to i8
// CHECK: llvm.store %[[WIDE]], %{{.*}} : i8, !llvm.ptr
llvm.func @host(%p: !llvm.ptr, %q: !llvm.ptr) {
  %x = llvm.load %p : !llvm.ptr -> i1
  llvm.store %x, %q : i1, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @others
// CHECK-NOT: llvm.icmp
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> i8
// CHECK-NEXT: llvm.store %{{.*}}, %{{.*}} : i8, !llvm.ptr
llvm.func @others(%p: !llvm.ptr, %q: !llvm.ptr) {
  %x = llvm.load %p : !llvm.ptr -> i8
  llvm.store %x, %q : i8, !llvm.ptr
  llvm.return
}

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @kernel
  // CHECK: llvm.load %{{.*}} invariant {alignment = 1 : i64} : !llvm.ptr -> i8
  // CHECK: llvm.icmp "ne"
  llvm.func @kernel(%p: !llvm.ptr, %q: !llvm.ptr) attributes {nvvm.kernel} {
    %x = llvm.load %p invariant {alignment = 1 : i64} : !llvm.ptr -> i1
    llvm.store %x, %q : i1, !llvm.ptr
    llvm.return
  }
}
