// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// CHECK-LABEL: func.func @keys
// CHECK: ragged.sort %{{.*}}, %{{.*}} : (tensor<?xi32>, tensor<?xi64>) -> tensor<?xi32>
func.func @keys(%keys: tensor<?xi32>, %offsets: tensor<?xi64>) -> tensor<?xi32> {
  %0 = ragged.sort %keys, %offsets : (tensor<?xi32>, tensor<?xi64>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// CHECK-LABEL: func.func @limit
// CHECK: ragged.sort %{{.*}}, %{{.*}} {limit = 8} : (tensor<?xi32>, tensor<?xi64>) -> tensor<?xi32>
func.func @limit(%keys: tensor<?xi32>, %offsets: tensor<?xi64>) -> tensor<?xi32> {
  %0 = ragged.sort %keys, %offsets {limit = 8} : (tensor<?xi32>, tensor<?xi64>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// With numbers segments have these, in the order of their keys. Offsets are of any index type.
// CHECK-LABEL: func.func @numbers
// CHECK: ragged.sort %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?xi64>, tensor<3xindex>, tensor<8xi64>) -> tensor<8xi64>
func.func @numbers(%keys: tensor<?xi64>, %offsets: tensor<3xindex>, %numbers: tensor<8xi64>) -> tensor<8xi64> {
  %0 = ragged.sort %keys, %offsets, %numbers : (tensor<?xi64>, tensor<3xindex>, tensor<8xi64>) -> tensor<8xi64>
  return %0 : tensor<8xi64>
}
