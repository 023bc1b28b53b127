// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// With and without the sources of the levels.

// CHECK-LABEL: func.func @like
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>)
// CHECK: %[[R:.*]] = ragged.empty %[[X]] : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x4xf16, #ragged.layout<"dr|d">>
// CHECK: return %[[R]] : tensor<3x?x4xf16, #ragged.layout<"dr|d">>
func.func @like(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x4xf16, #ragged.layout<"dr|d">> {
  %0 = ragged.empty %x : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x4xf16, #ragged.layout<"dr|d">>
  return %0 : tensor<3x?x4xf16, #ragged.layout<"dr|d">>
}

// CHECK-LABEL: func.func @dynamic_features
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %[[Y:.*]]: index)
// CHECK: %[[R:.*]] = ragged.empty %[[X]], %[[Y]] : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, index) -> tensor<3x?x?xf32, #ragged.layout<"dr|d">>
// CHECK: return %[[R]] : tensor<3x?x?xf32, #ragged.layout<"dr|d">>
func.func @dynamic_features(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %y: index) -> tensor<3x?x?xf32, #ragged.layout<"dr|d">> {
  %0 = ragged.empty %x, %y
      : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, index) -> tensor<3x?x?xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<3x?x?xf32, #ragged.layout<"dr|d">>
}

// CHECK-LABEL: func.func @scores
// CHECK-SAME: (%[[Q:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %[[K:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>)
// CHECK: %[[R:.*]] = ragged.empty %[[Q]], %[[K]] {from = {{\[\[}}0, 0], [0, 1], [1, 1]]} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x?xf32, #ragged.layout<"drr">>
// CHECK: return %[[R]] : tensor<3x?x?xf32, #ragged.layout<"drr">>
func.func @scores(%q: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %k: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x?xf32, #ragged.layout<"drr">> {
  %0 = ragged.empty %q, %k {from = [[0, 0], [0, 1], [1, 1]]}
      : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x?xf32, #ragged.layout<"drr">>
  return %0 : tensor<3x?x?xf32, #ragged.layout<"drr">>
}

// CHECK-LABEL: func.func @fewer_levels
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x?xf32, #ragged.layout<"drr">>)
// CHECK: %[[R:.*]] = ragged.empty %[[X]] {from = {{\[\[}}0, 0], [0, 1]]} : (tensor<3x?x?xf32, #ragged.layout<"drr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
// CHECK: return %[[R]] : tensor<3x?xf32, #ragged.layout<"dr">>
func.func @fewer_levels(%x: tensor<3x?x?xf32, #ragged.layout<"drr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.empty %x {from = [[0, 0], [0, 1]]}
      : (tensor<3x?x?xf32, #ragged.layout<"drr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dr">>
}

// CHECK-LABEL: func.func @more_features
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[N:.*]]: index)
// CHECK: %[[R:.*]] = ragged.empty %[[X]], %[[N]] {from = {{\[\[}}0, 0], [0, 1], -1, -1]} : (tensor<3x?xf32, #ragged.layout<"dr">>, index) -> tensor<3x?x4x?xf32, #ragged.layout<"dr|d|d">>
// CHECK: return %[[R]] : tensor<3x?x4x?xf32, #ragged.layout<"dr|d|d">>
func.func @more_features(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %n: index) -> tensor<3x?x4x?xf32, #ragged.layout<"dr|d|d">> {
  %0 = ragged.empty %x, %n {from = [[0, 0], [0, 1], -1, -1]}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, index) -> tensor<3x?x4x?xf32, #ragged.layout<"dr|d|d">>
  return %0 : tensor<3x?x4x?xf32, #ragged.layout<"dr|d|d">>
}

// CHECK-LABEL: func.func @permuted_batch
// CHECK-SAME: (%[[X:.*]]: tensor<3x2x?xf32, #ragged.layout<"ddr">>)
// CHECK: %[[R:.*]] = ragged.empty %[[X]] {from = {{\[\[}}0, 1], [0, 0], [0, 2]]} : (tensor<3x2x?xf32, #ragged.layout<"ddr">>) -> tensor<2x3x?xf32, #ragged.layout<"ddr">>
// CHECK: return %[[R]] : tensor<2x3x?xf32, #ragged.layout<"ddr">>
func.func @permuted_batch(%x: tensor<3x2x?xf32, #ragged.layout<"ddr">>) -> tensor<2x3x?xf32, #ragged.layout<"ddr">> {
  %0 = ragged.empty %x {from = [[0, 1], [0, 0], [0, 2]]}
      : (tensor<3x2x?xf32, #ragged.layout<"ddr">>) -> tensor<2x3x?xf32, #ragged.layout<"ddr">>
  return %0 : tensor<2x3x?xf32, #ragged.layout<"ddr">>
}

// CHECK-LABEL: func.func @tile
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x16xf32, #ragged.layout<"drt">>)
// CHECK: %[[R:.*]] = ragged.empty %[[X]] {from = {{\[\[}}0, 0], [0, 1], [0, 2]]} : (tensor<3x?x16xf32, #ragged.layout<"drt">>) -> tensor<3x?x16xf32, #ragged.layout<"drt">>
// CHECK: return %[[R]] : tensor<3x?x16xf32, #ragged.layout<"drt">>
func.func @tile(%x: tensor<3x?x16xf32, #ragged.layout<"drt">>) -> tensor<3x?x16xf32, #ragged.layout<"drt">> {
  %0 = ragged.empty %x {from = [[0, 0], [0, 1], [0, 2]]}
      : (tensor<3x?x16xf32, #ragged.layout<"drt">>) -> tensor<3x?x16xf32, #ragged.layout<"drt">>
  return %0 : tensor<3x?x16xf32, #ragged.layout<"drt">>
}
