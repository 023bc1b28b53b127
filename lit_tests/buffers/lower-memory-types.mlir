// RUN: ragged-opt %s --lower-memory-types | FileCheck %s

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

// CHECK-LABEL: llvm.func @vectors
// CHECK: %[[BYTES:.*]] = llvm.intr.masked.load %{{.*}}, %{{.*}}, %{{.*}} {{.*}} -> vector<4xi8>
// CHECK: llvm.icmp "ne" %[[BYTES]], %{{.*}} : vector<4xi8>
// CHECK: %[[SHORT:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<4xi16>
// CHECK: %[[FLOATS:.*]] = llvm.bitcast %[[SHORT]] : vector<4xi16> to vector<4xbf16>
// CHECK: %[[WRITTEN:.*]] = llvm.bitcast %[[FLOATS]] : vector<4xbf16> to vector<4xi16>
// CHECK: llvm.intr.masked.store %[[WRITTEN]], %{{.*}}, %{{.*}} : vector<4xi16>
llvm.func @vectors(%p: !llvm.ptr, %q: !llvm.ptr, %mask: vector<4xi1>) {
  %x = llvm.intr.masked.load %p, %mask, %mask {alignment = 1 : i32} : (!llvm.ptr, vector<4xi1>, vector<4xi1>) -> vector<4xi1>
  %y = llvm.load %q : !llvm.ptr -> vector<4xbf16>
  llvm.intr.masked.store %y, %p, %x {alignment = 2 : i32} : vector<4xbf16>, vector<4xi1> into !llvm.ptr
  llvm.return
}
