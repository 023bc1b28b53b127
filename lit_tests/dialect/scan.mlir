// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// CHECK-LABEL: func.func @running_sums
// CHECK: ragged.scan %{{.*}} {dim = 1, kind = "sum"} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
func.func @running_sums(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">> {
  %0 = ragged.scan %x {dim = 1, kind = "sum"} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
}

// Windows become a tensor of its own.
// CHECK-LABEL: func.func @backwards
// CHECK: ragged.scan %{{.*}} {dim = 1, kind = "max", reverse} : (tensor<?x?xi32, #ragged.layout<"dw">>) -> tensor<?x?xi32, #ragged.layout<"dr">>
func.func @backwards(%x: tensor<?x?xi32, #ragged.layout<"dw">>) -> tensor<?x?xi32, #ragged.layout<"dr">> {
  %0 = ragged.scan %x {dim = 1, kind = "max", reverse} : (tensor<?x?xi32, #ragged.layout<"dw">>) -> tensor<?x?xi32, #ragged.layout<"dr">>
  return %0 : tensor<?x?xi32, #ragged.layout<"dr">>
}

// CHECK-LABEL: func.func @without_itself
// CHECK: ragged.scan %{{.*}} {dim = 1, exclusive, kind = "sum"} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
func.func @without_itself(%x: tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %0 = ragged.scan %x {dim = 1, kind = "sum", exclusive} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<?x?xf32, #ragged.layout<"dr">>
}

// CHECK-LABEL: func.func @dense
// CHECK: ragged.scan
func.func @dense(%x: tensor<?x4xi1>) -> tensor<?x4xi1> {
  %0 = ragged.scan %x {dim = 0, kind = "min"} : (tensor<?x4xi1>) -> tensor<?x4xi1>
  return %0 : tensor<?x4xi1>
}
