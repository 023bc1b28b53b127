// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// Without a result.

// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dr">>)
// CHECK: ragged.print %[[X]] : (tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
func.func @plain(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  ragged.print %x : (tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  return
}

// CHECK-LABEL: func.func @label
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dr">>)
// CHECK: ragged.print %[[X]] {label = "x"} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
func.func @label(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  ragged.print %x {label = "x"} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  return
}

// CHECK-LABEL: func.func @dense
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>)
// CHECK: ragged.print %[[X]] : (tensor<3xf32>) -> ()
func.func @dense(%x: tensor<3xf32>) {
  ragged.print %x : (tensor<3xf32>) -> ()
  return
}
