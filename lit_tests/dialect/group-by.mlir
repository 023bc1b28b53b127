// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// CHECK-LABEL: func.func @routing
// CHECK: ragged.group_by %{{.*}}, %{{.*}} : (tensor<?xi64>, index) -> tensor<?x?xi64, #ragged.layout<"dr">>
func.func @routing(%keys: tensor<?xi64>, %count: index) -> tensor<?x?xi64, #ragged.layout<"dr">> {
  %0 = ragged.group_by %keys, %count : (tensor<?xi64>, index) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return %0 : tensor<?x?xi64, #ragged.layout<"dr">>
}

// The result's type may know the number of components; keys are of any index type.
// CHECK-LABEL: func.func @experts
// CHECK: ragged.group_by %{{.*}}, %{{.*}} : (tensor<6xi32>, i64) -> tensor<8x?xi64, #ragged.layout<"dr">>
func.func @experts(%keys: tensor<6xi32>, %count: i64) -> tensor<8x?xi64, #ragged.layout<"dr">> {
  %0 = ragged.group_by %keys, %count : (tensor<6xi32>, i64) -> tensor<8x?xi64, #ragged.layout<"dr">>
  return %0 : tensor<8x?xi64, #ragged.layout<"dr">>
}

// With numbers components have these instead of indices.
// CHECK-LABEL: func.func @digits
// CHECK: ragged.group_by %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?xi64>, index, tensor<?xi64>) -> tensor<?x?xi64, #ragged.layout<"dr">>
func.func @digits(%keys: tensor<?xi64>, %count: index, %numbers: tensor<?xi64>) -> tensor<?x?xi64, #ragged.layout<"dr">> {
  %0 = ragged.group_by %keys, %count, %numbers : (tensor<?xi64>, index, tensor<?xi64>) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return %0 : tensor<?x?xi64, #ragged.layout<"dr">>
}
