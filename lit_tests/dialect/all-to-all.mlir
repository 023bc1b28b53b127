// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt --cse --canonicalize --ragged-canonicalize | FileCheck %s

// Experts of a rank for every other rank, each with its tokens.
// CHECK-LABEL: func.func @experts
// CHECK: ragged.all_to_all %{{.*}} : (tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>) -> tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>
func.func @experts(%x: tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>) -> tensor<4x?x?x8xf32, #ragged.layout<"drr|d">> {
  %0 = ragged.all_to_all %x : (tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>) -> tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>
  return %0 : tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>
}

// One row for every rank.
// CHECK-LABEL: func.func @rows
// CHECK: ragged.all_to_all %{{.*}} : (tensor<?x8xf32>) -> tensor<?x8xf32>
func.func @rows(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = ragged.all_to_all %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// Calls of other ranks are not removed, however little is made of them.
// CHECK-LABEL: func.func @unused
// CHECK: ragged.all_to_all
// CHECK: ragged.all_to_all
func.func @unused(%x: tensor<?x8xf32>) {
  %0 = ragged.all_to_all %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = ragged.all_to_all %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
