// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// Facts about lengths, and about the extent of a dense dim.

// CHECK-LABEL: func.func @divisible
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dr">>)
// CHECK: %[[R:.*]] = ragged.assume %[[X]] {divisible_by = 8, level = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
// CHECK: return %[[R]] : tensor<3x?xf32, #ragged.layout<"dr">>
func.func @divisible(%x: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.assume %x {divisible_by = 8, level = 1}
      : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dr">>
}

// CHECK-LABEL: func.func @bounds
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dr">>)
// CHECK: %[[R:.*]] = ragged.assume %[[X]] {level = 1, max = 512, min = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
// CHECK: return %[[R]] : tensor<3x?xf32, #ragged.layout<"dr">>
func.func @bounds(%x: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.assume %x {level = 1, max = 512, min = 1}
      : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dr">>
}

// CHECK-LABEL: func.func @dense
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>)
// CHECK: %[[R:.*]] = ragged.assume %[[X]] {divisible_by = 4, level = 0} : (tensor<?xf32>) -> tensor<?xf32>
// CHECK: return %[[R]] : tensor<?xf32>
func.func @dense(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = ragged.assume %x {divisible_by = 4, level = 0} : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
