// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// The axis of the level becomes one dense dim.

// CHECK-LABEL: func.func @sum
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %[[N:.*]]: index)
// CHECK: %[[R:.*]] = ragged.reduce_across %[[X]], %[[N]] {dim = 1, kind = "sum"} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, index) -> tensor<?x8xf32>
// CHECK: return %[[R]] : tensor<?x8xf32>
func.func @sum(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %n: index) -> tensor<?x8xf32> {
  %0 = ragged.reduce_across %x, %n {dim = 1, kind = "sum"}
      : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, index) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @max
// CHECK-SAME: (%[[X:.*]]: tensor<3x2x?xf32, #ragged.layout<"ddr">>, %[[N:.*]]: i64)
// CHECK: %[[R:.*]] = ragged.reduce_across %[[X]], %[[N]] {dim = 2, kind = "max"} : (tensor<3x2x?xf32, #ragged.layout<"ddr">>, i64) -> tensor<?xf32>
// CHECK: return %[[R]] : tensor<?xf32>
func.func @max(%x: tensor<3x2x?xf32, #ragged.layout<"ddr">>, %n: i64) -> tensor<?xf32> {
  %0 = ragged.reduce_across %x, %n {dim = 2, kind = "max"}
      : (tensor<3x2x?xf32, #ragged.layout<"ddr">>, i64) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
