// RUN: ragged-opt %s --guard-ragged-allocs | FileCheck %s

// The largest extent leaves room to align the buffer: (2^63 - 1 - 4096) / 32 bytes.
// CHECK-LABEL: func.func @one_extent
// CHECK-SAME: (%[[N:.*]]: index)
// CHECK: %[[MOST:.*]] = arith.constant 288230376151711615 : index
// CHECK: %[[LARGE:.*]] = arith.cmpi ugt, %[[N]], %[[MOST]]
// CHECK: scf.if %[[LARGE]] {
// CHECK: %[[SIZE:.*]] = llvm.mlir.constant(9223372036854775807 : i64)
// CHECK: llvm.call @ragged_fail(%[[SIZE]])
// CHECK: memref.alloc(%[[N]])
func.func @one_extent(%n: index) -> memref<?x8xf32> {
  %a = memref.alloc(%n) : memref<?x8xf32>
  return %a : memref<?x8xf32>
}

// CHECK-LABEL: func.func @two_extents
// CHECK-SAME: (%[[N:.*]]: index, %[[M:.*]]: index)
// CHECK: %[[A:.*]] = arith.maxui %[[N]], %{{.*}}
// CHECK: %[[B:.*]] = arith.maxui %[[M]], %{{.*}}
// CHECK: %[[LOW:.*]], %[[HIGH:.*]] = arith.mului_extended %[[A]], %[[B]]
// CHECK: %[[WRAPS:.*]] = arith.cmpi ugt, %[[HIGH]], %{{.*}}
// CHECK: %[[MANY:.*]] = arith.cmpi ugt, %[[LOW]], %{{.*}}
// CHECK: %[[LARGE:.*]] = arith.ori %[[WRAPS]], %[[MANY]]
// CHECK: scf.if %[[LARGE]]
func.func @two_extents(%n: index, %m: index) -> memref<?x?xi1> {
  %a = memref.alloc(%n, %m) : memref<?x?xi1>
  return %a : memref<?x?xi1>
}

// CHECK-LABEL: func.func @known_size
// CHECK-NOT: ragged_fail
// CHECK: return
func.func @known_size() -> memref<4x8xf32> {
  %a = memref.alloc() : memref<4x8xf32>
  return %a : memref<4x8xf32>
}

// CHECK-DAG: llvm.func @ragged_fail(i64)
// CHECK-DAG: llvm.func @_mlir_memref_to_llvm_alloc(i64) -> (!llvm.ptr {llvm.noalias})
// CHECK-DAG: llvm.func @_mlir_memref_to_llvm_free(!llvm.ptr)
