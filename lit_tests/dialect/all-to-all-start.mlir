// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt --cse --canonicalize --ragged-canonicalize | FileCheck %s

// What is begun is not removed.
// CHECK-LABEL: func.func @unused
// CHECK: ragged.all_to_all_start
func.func @unused(%x: tensor<?x8xf32>) {
  %turn = ragged.all_to_all_start %x : (tensor<?x8xf32>) -> index
  return
}

// Begun where what is sent is known, and waited for where it is needed.
// CHECK-LABEL: func.func @experts
// CHECK: %[[TURN:.*]] = ragged.all_to_all_start %{{.*}} : (tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>) -> index
// CHECK-NEXT: call @other
// CHECK-NEXT: %[[X:.*]] = ragged.all_to_all_wait %{{.*}}, %[[TURN]] : (tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>, index) -> tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>
// CHECK-NEXT: return %[[X]]
func.func @experts(%x: tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>) -> tensor<4x?x?x8xf32, #ragged.layout<"drr|d">> {
  %turn = ragged.all_to_all_start %x : (tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>) -> index
  %0 = ragged.all_to_all_wait %x, %turn : (tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>, index) -> tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>
  call @other() : () -> ()
  return %0 : tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>
}
func.func private @other()
