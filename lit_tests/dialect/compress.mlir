// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// CHECK-LABEL: func.func @rows
// CHECK: ragged.compress %{{.*}}, %{{.*}} : (tensor<?xi1>, tensor<?x8xf32>) -> tensor<?x8xf32>
func.func @rows(%mask: tensor<?xi1>, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = ragged.compress %mask, %x : (tensor<?xi1>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// Numbers of rows; the result's type may know how many are kept.
// CHECK-LABEL: func.func @numbers
// CHECK: ragged.compress %{{.*}} : (tensor<6xi1>) -> tensor<4xi64>
func.func @numbers(%mask: tensor<6xi1>) -> tensor<4xi64> {
  %0 = ragged.compress %mask : (tensor<6xi1>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// Of booleans by booleans.
// CHECK-LABEL: func.func @booleans
// CHECK: ragged.compress %{{.*}}, %{{.*}} : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
func.func @booleans(%mask: tensor<?xi1>) -> tensor<?xi1> {
  %0 = ragged.compress %mask, %mask : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
  return %0 : tensor<?xi1>
}
