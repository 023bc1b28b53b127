// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// Every form of partition, parsed short and generic, printed short.

// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xf32>, %[[Y:.*]]: tensor<4xi64>)
// CHECK: %[[R:.*]] = ragged.partition %[[X]], %[[Y]] {dim = 0} : (tensor<?x64xf32>, tensor<4xi64>) -> tensor<3x?x64xf32, #ragged.layout<"dr|d">>
// CHECK: return %[[R]] : tensor<3x?x64xf32, #ragged.layout<"dr|d">>
func.func @plain(%x: tensor<?x64xf32>, %y: tensor<4xi64>) -> tensor<3x?x64xf32, #ragged.layout<"dr|d">> {
  %0 = ragged.partition %x, %y {dim = 0}
      : (tensor<?x64xf32>, tensor<4xi64>) -> tensor<3x?x64xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<3x?x64xf32, #ragged.layout<"dr|d">>
}

// CHECK-LABEL: func.func @lengths
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xf32>, %[[Y:.*]]: tensor<3xi32>)
// CHECK: %[[R:.*]] = ragged.partition %[[X]], %[[Y]] {dim = 0, lengths} : (tensor<?x64xf32>, tensor<3xi32>) -> tensor<3x?x64xf32, #ragged.layout<"dr|d">>
// CHECK: return %[[R]] : tensor<3x?x64xf32, #ragged.layout<"dr|d">>
func.func @lengths(%x: tensor<?x64xf32>, %y: tensor<3xi32>) -> tensor<3x?x64xf32, #ragged.layout<"dr|d">> {
  %0 = ragged.partition %x, %y {dim = 0, lengths}
      : (tensor<?x64xf32>, tensor<3xi32>) -> tensor<3x?x64xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<3x?x64xf32, #ragged.layout<"dr|d">>
}

// CHECK-LABEL: func.func @list_of_lists
// CHECK-SAME: (%[[X:.*]]: tensor<8x?xf32, #ragged.layout<"dr">>, %[[Y:.*]]: tensor<3xi64>)
// CHECK: %[[R:.*]] = ragged.partition %[[X]], %[[Y]] {dim = 0} : (tensor<8x?xf32, #ragged.layout<"dr">>, tensor<3xi64>) -> tensor<2x?x?xf32, #ragged.layout<"drr">>
// CHECK: return %[[R]] : tensor<2x?x?xf32, #ragged.layout<"drr">>
func.func @list_of_lists(%x: tensor<8x?xf32, #ragged.layout<"dr">>, %y: tensor<3xi64>) -> tensor<2x?x?xf32, #ragged.layout<"drr">> {
  %0 = ragged.partition %x, %y {dim = 0}
      : (tensor<8x?xf32, #ragged.layout<"dr">>, tensor<3xi64>) -> tensor<2x?x?xf32, #ragged.layout<"drr">>
  return %0 : tensor<2x?x?xf32, #ragged.layout<"drr">>
}

// CHECK-LABEL: func.func @rows_of_a_ragged_dim
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x64xf32, #ragged.layout<"dr|d">>, %[[Y:.*]]: tensor<3x3xi64>)
// CHECK: %[[R:.*]] = ragged.partition %[[X]], %[[Y]] {dim = 1} : (tensor<3x?x64xf32, #ragged.layout<"dr|d">>, tensor<3x3xi64>) -> tensor<3x2x?x64xf32, #ragged.layout<"ddr|d">>
// CHECK: return %[[R]] : tensor<3x2x?x64xf32, #ragged.layout<"ddr|d">>
func.func @rows_of_a_ragged_dim(%x: tensor<3x?x64xf32, #ragged.layout<"dr|d">>, %y: tensor<3x3xi64>) -> tensor<3x2x?x64xf32, #ragged.layout<"ddr|d">> {
  %0 = ragged.partition %x, %y {dim = 1}
      : (tensor<3x?x64xf32, #ragged.layout<"dr|d">>, tensor<3x3xi64>) -> tensor<3x2x?x64xf32, #ragged.layout<"ddr|d">>
  return %0 : tensor<3x2x?x64xf32, #ragged.layout<"ddr|d">>
}

// CHECK-LABEL: func.func @rows_of_a_window
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dw">>, %[[Y:.*]]: tensor<?x3xindex>)
// CHECK: %[[R:.*]] = ragged.partition %[[X]], %[[Y]] {dim = 1} : (tensor<3x?xf32, #ragged.layout<"dw">>, tensor<?x3xindex>) -> tensor<3x2x?xf32, #ragged.layout<"ddw">>
// CHECK: return %[[R]] : tensor<3x2x?xf32, #ragged.layout<"ddw">>
func.func @rows_of_a_window(%x: tensor<3x?xf32, #ragged.layout<"dw">>, %y: tensor<?x3xindex>) -> tensor<3x2x?xf32, #ragged.layout<"ddw">> {
  %0 = ragged.partition %x, %y {dim = 1}
      : (tensor<3x?xf32, #ragged.layout<"dw">>, tensor<?x3xindex>) -> tensor<3x2x?xf32, #ragged.layout<"ddw">>
  return %0 : tensor<3x2x?xf32, #ragged.layout<"ddw">>
}

// CHECK-LABEL: func.func @rows_of_a_batch
// CHECK-SAME: (%[[X:.*]]: tensor<3x5x?xf32, #ragged.layout<"ddr">>, %[[Y:.*]]: tensor<3x3xi64>)
// CHECK: %[[R:.*]] = ragged.partition %[[X]], %[[Y]] {dim = 1} : (tensor<3x5x?xf32, #ragged.layout<"ddr">>, tensor<3x3xi64>) -> tensor<3x2x?x?xf32, #ragged.layout<"ddrr">>
// CHECK: return %[[R]] : tensor<3x2x?x?xf32, #ragged.layout<"ddrr">>
func.func @rows_of_a_batch(%x: tensor<3x5x?xf32, #ragged.layout<"ddr">>, %y: tensor<3x3xi64>) -> tensor<3x2x?x?xf32, #ragged.layout<"ddrr">> {
  %0 = ragged.partition %x, %y {dim = 1}
      : (tensor<3x5x?xf32, #ragged.layout<"ddr">>, tensor<3x3xi64>) -> tensor<3x2x?x?xf32, #ragged.layout<"ddrr">>
  return %0 : tensor<3x2x?x?xf32, #ragged.layout<"ddrr">>
}

// CHECK-LABEL: func.func @rows_of_a_plain_dim
// CHECK-SAME: (%[[X:.*]]: tensor<2x100x512xf32>, %[[Y:.*]]: tensor<2x5xi64>)
// CHECK: %[[R:.*]] = ragged.partition %[[X]], %[[Y]] {dim = 1} : (tensor<2x100x512xf32>, tensor<2x5xi64>) -> tensor<2x4x?x512xf32, #ragged.layout<"ddr|d">>
// CHECK: return %[[R]] : tensor<2x4x?x512xf32, #ragged.layout<"ddr|d">>
func.func @rows_of_a_plain_dim(%x: tensor<2x100x512xf32>, %y: tensor<2x5xi64>) -> tensor<2x4x?x512xf32, #ragged.layout<"ddr|d">> {
  %0 = ragged.partition %x, %y {dim = 1}
      : (tensor<2x100x512xf32>, tensor<2x5xi64>) -> tensor<2x4x?x512xf32, #ragged.layout<"ddr|d">>
  return %0 : tensor<2x4x?x512xf32, #ragged.layout<"ddr|d">>
}

// CHECK-LABEL: func.func @dynamic_count
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %[[Y:.*]]: tensor<?xi64>)
// CHECK: %[[R:.*]] = ragged.partition %[[X]], %[[Y]] {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
// CHECK: return %[[R]] : tensor<?x?xf32, #ragged.layout<"dr">>
func.func @dynamic_count(%x: tensor<?xf32>, %y: tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.partition %x, %y {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<?x?xf32, #ragged.layout<"dr">>
}
