// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// Dims that run together, the compared pair last.

// CHECK-LABEL: func.func @batch_and_level
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[Y:.*]]: tensor<3x?xf32, #ragged.layout<"dr">>)
// CHECK: ragged.assert_conform %[[X]], %[[Y]] {lhs = array<i64: 0, 1>, op = "arith.addf", rhs = array<i64: 0, 1>} : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
func.func @batch_and_level(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>) {
  ragged.assert_conform %x, %y {lhs = array<i64: 0, 1>, op = "arith.addf", rhs = array<i64: 0, 1>}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  return
}

// CHECK-LABEL: func.func @dense
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %[[Y:.*]]: tensor<?x?xf32>)
// CHECK: ragged.assert_conform %[[X]], %[[Y]] {lhs = array<i64: 0>, op = "linalg.map", rhs = array<i64: 1>} : (tensor<?xf32>, tensor<?x?xf32>) -> ()
func.func @dense(%x: tensor<?xf32>, %y: tensor<?x?xf32>) {
  ragged.assert_conform %x, %y {lhs = array<i64: 0>, op = "linalg.map", rhs = array<i64: 1>}
      : (tensor<?xf32>, tensor<?x?xf32>) -> ()
  return
}
