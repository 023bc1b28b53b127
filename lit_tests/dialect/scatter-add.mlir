// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// CHECK-LABEL: func.func @rows
// CHECK: ragged.scatter_add %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<?xi64>, index) -> tensor<?x8xf32>
func.func @rows(%terms: tensor<?x8xf32>, %positions: tensor<?xi64>, %count: index) -> tensor<?x8xf32> {
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?x8xf32>, tensor<?xi64>, index) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// A histogram; the result's type may know the number of rows.
// CHECK-LABEL: func.func @histogram
// CHECK: ragged.scatter_add %{{.*}}, %{{.*}}, %{{.*}} : (tensor<6xi64>, tensor<6xi32>, i64) -> tensor<4xi64>
func.func @histogram(%ones: tensor<6xi64>, %keys: tensor<6xi32>, %count: i64) -> tensor<4xi64> {
  %0 = ragged.scatter_add %ones, %keys, %count : (tensor<6xi64>, tensor<6xi32>, i64) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// No position occurs twice.
// CHECK-LABEL: func.func @inverse
// CHECK: ragged.scatter_add %{{.*}}, %{{.*}}, %{{.*}} {unique} : (tensor<?xi64>, tensor<?xi64>, index) -> tensor<?xi64>
func.func @inverse(%numbers: tensor<?xi64>, %order: tensor<?xi64>, %count: index) -> tensor<?xi64> {
  %0 = ragged.scatter_add %numbers, %order, %count {unique} : (tensor<?xi64>, tensor<?xi64>, index) -> tensor<?xi64>
  return %0 : tensor<?xi64>
}

// Lists have rows of their own, each as many.
// CHECK-LABEL: func.func @each
// CHECK: ragged.scatter_add %{{.*}}, %{{.*}}, %{{.*}} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3x?xi32, #ragged.layout<"dr">>, index) -> tensor<3x?x8xf32>
func.func @each(%terms: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %positions: tensor<3x?xi32, #ragged.layout<"dr">>, %count: index) -> tensor<3x?x8xf32> {
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3x?xi32, #ragged.layout<"dr">>, index) -> tensor<3x?x8xf32>
  return %0 : tensor<3x?x8xf32>
}
