// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// One function for each rule of the merge table.

// CHECK-LABEL: func.func @batch
// CHECK-SAME: (%[[X:.*]]: tensor<3x2x?xf32, #ragged.layout<"ddr">>)
// CHECK: %[[R:.*]] = ragged.merge %[[X]] {dim = 0} : (tensor<3x2x?xf32, #ragged.layout<"ddr">>) -> tensor<6x?xf32, #ragged.layout<"dr">>
// CHECK: return %[[R]] : tensor<6x?xf32, #ragged.layout<"dr">>
func.func @batch(%x: tensor<3x2x?xf32, #ragged.layout<"ddr">>) -> tensor<6x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.merge %x {dim = 0} : (tensor<3x2x?xf32, #ragged.layout<"ddr">>) -> tensor<6x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<6x?xf32, #ragged.layout<"dr">>
}

// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[X:.*]]: tensor<3x4xf32>)
// CHECK: %[[R:.*]] = ragged.merge %[[X]] {dim = 0} : (tensor<3x4xf32>) -> tensor<12xf32>
// CHECK: return %[[R]] : tensor<12xf32>
func.func @plain(%x: tensor<3x4xf32>) -> tensor<12xf32> {
  %0 = ragged.merge %x {dim = 0} : (tensor<3x4xf32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}

// CHECK-LABEL: func.func @components
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x64xf32, #ragged.layout<"dr|d">>)
// CHECK: %[[R:.*]] = ragged.merge %[[X]] {dim = 0} : (tensor<3x?x64xf32, #ragged.layout<"dr|d">>) -> tensor<?x64xf32>
// CHECK: return %[[R]] : tensor<?x64xf32>
func.func @components(%x: tensor<3x?x64xf32, #ragged.layout<"dr|d">>) -> tensor<?x64xf32> {
  %0 = ragged.merge %x {dim = 0} : (tensor<3x?x64xf32, #ragged.layout<"dr|d">>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[X:.*]]: tensor<3x2x?x8xf32, #ragged.layout<"ddr|d">>)
// CHECK: %[[R:.*]] = ragged.merge %[[X]] {dim = 1} : (tensor<3x2x?x8xf32, #ragged.layout<"ddr|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
// CHECK: return %[[R]] : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
func.func @rows(%x: tensor<3x2x?x8xf32, #ragged.layout<"ddr|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">> {
  %0 = ragged.merge %x {dim = 1}
      : (tensor<3x2x?x8xf32, #ragged.layout<"ddr|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
}

// CHECK-LABEL: func.func @levels
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x?xf32, #ragged.layout<"drr">>)
// CHECK: %[[R:.*]] = ragged.merge %[[X]] {dim = 1} : (tensor<3x?x?xf32, #ragged.layout<"drr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
// CHECK: return %[[R]] : tensor<3x?xf32, #ragged.layout<"dr">>
func.func @levels(%x: tensor<3x?x?xf32, #ragged.layout<"drr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.merge %x {dim = 1} : (tensor<3x?x?xf32, #ragged.layout<"drr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dr">>
}

// CHECK-LABEL: func.func @scale
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x2x?xf32, #ragged.layout<"drdr">>)
// CHECK: %[[R:.*]] = ragged.merge %[[X]] {dim = 1} : (tensor<3x?x2x?xf32, #ragged.layout<"drdr">>) -> tensor<3x?x?xf32, #ragged.layout<"drr">>
// CHECK: return %[[R]] : tensor<3x?x?xf32, #ragged.layout<"drr">>
func.func @scale(%x: tensor<3x?x2x?xf32, #ragged.layout<"drdr">>) -> tensor<3x?x?xf32, #ragged.layout<"drr">> {
  %0 = ragged.merge %x {dim = 1}
      : (tensor<3x?x2x?xf32, #ragged.layout<"drdr">>) -> tensor<3x?x?xf32, #ragged.layout<"drr">>
  return %0 : tensor<3x?x?xf32, #ragged.layout<"drr">>
}

// CHECK-LABEL: func.func @features
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x4xf32, #ragged.layout<"dr|d">>)
// CHECK: %[[R:.*]] = ragged.merge %[[X]] {dim = 1} : (tensor<3x?x4xf32, #ragged.layout<"dr|d">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
// CHECK: return %[[R]] : tensor<3x?xf32, #ragged.layout<"dr">>
func.func @features(%x: tensor<3x?x4xf32, #ragged.layout<"dr|d">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.merge %x {dim = 1}
      : (tensor<3x?x4xf32, #ragged.layout<"dr|d">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dr">>
}

// CHECK-LABEL: func.func @untile
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x16xf32, #ragged.layout<"drt">>)
// CHECK: %[[R:.*]] = ragged.merge %[[X]] {dim = 1} : (tensor<3x?x16xf32, #ragged.layout<"drt">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
// CHECK: return %[[R]] : tensor<3x?xf32, #ragged.layout<"dr">>
func.func @untile(%x: tensor<3x?x16xf32, #ragged.layout<"drt">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.merge %x {dim = 1}
      : (tensor<3x?x16xf32, #ragged.layout<"drt">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dr">>
}

// CHECK-LABEL: func.func @tiles
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x2x4xf32, #ragged.layout<"drtt">>)
// CHECK: %[[R:.*]] = ragged.merge %[[X]] {dim = 2} : (tensor<3x?x2x4xf32, #ragged.layout<"drtt">>) -> tensor<3x?x8xf32, #ragged.layout<"drt">>
// CHECK: return %[[R]] : tensor<3x?x8xf32, #ragged.layout<"drt">>
func.func @tiles(%x: tensor<3x?x2x4xf32, #ragged.layout<"drtt">>) -> tensor<3x?x8xf32, #ragged.layout<"drt">> {
  %0 = ragged.merge %x {dim = 2}
      : (tensor<3x?x2x4xf32, #ragged.layout<"drtt">>) -> tensor<3x?x8xf32, #ragged.layout<"drt">>
  return %0 : tensor<3x?x8xf32, #ragged.layout<"drt">>
}

// CHECK-LABEL: func.func @tile_parts
// CHECK-SAME: (%[[X:.*]]: tensor<2x2x4xf32, #ragged.layout<"d|dt">>)
// CHECK: %[[R:.*]] = ragged.merge %[[X]] {dim = 0} : (tensor<2x2x4xf32, #ragged.layout<"d|dt">>) -> tensor<4x?xf32, #ragged.layout<"dr">>
// CHECK: return %[[R]] : tensor<4x?xf32, #ragged.layout<"dr">>
func.func @tile_parts(%x: tensor<2x2x4xf32, #ragged.layout<"d|dt">>) -> tensor<4x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.merge %x {dim = 0}
      : (tensor<2x2x4xf32, #ragged.layout<"d|dt">>) -> tensor<4x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<4x?xf32, #ragged.layout<"dr">>
}
