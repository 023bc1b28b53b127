// RUN: ragged-opt %s | FileCheck %s

// What upstream ops may do with ragged tensors.

// CHECK-LABEL: func.func private @declaration
func.func private @declaration(tensor<3x?x8xf32, #ragged.layout<"dr|d">> {ragged.divisible_by = 8 : i64, ragged.max_length = 0 : i64}) -> tensor<3x?xf32, #ragged.layout<"dr">>

// CHECK-LABEL: func.func @dense_dims
// CHECK: tensor.dim
// CHECK: tensor.extract
// CHECK: tensor.cast
// CHECK: tensor.extract_slice
// CHECK: tensor.extract_slice
// CHECK: tensor.expand_shape
// CHECK: tensor.collapse_shape
func.func @dense_dims(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %i: index) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">> {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %x, %c0 : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  %e = tensor.extract %x[%i, %i, %i] : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  %c = tensor.cast %x : tensor<3x?x8xf32, #ragged.layout<"dr|d">> to tensor<?x?x?xf32, #ragged.layout<"dr|d">>
  %n = ragged.max_length %x {level = 1} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> index
  %s = tensor.extract_slice %x[0, 0, 2] [3, %n, 4] [1, 1, 1] : tensor<3x?x8xf32, #ragged.layout<"dr|d">> to tensor<3x?x4xf32, #ragged.layout<"dr|d">>
  %t = tensor.extract_slice %x[0, 0, 2] [3, %n, 1] [1, 1, 1] : tensor<3x?x8xf32, #ragged.layout<"dr|d">> to tensor<3x?xf32, #ragged.layout<"dr">>
  %w = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [3, %n, 4, 2] : tensor<3x?x8xf32, #ragged.layout<"dr|d">> into tensor<3x?x4x2xf32, #ragged.layout<"dr|d|d">>
  %v = tensor.collapse_shape %w [[0], [1], [2, 3]] : tensor<3x?x4x2xf32, #ragged.layout<"dr|d|d">> into tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return %v : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
}

// CHECK-LABEL: func.func @control_flow
// CHECK: scf.if
// CHECK: scf.for
// CHECK: scf.while
// CHECK: call @declaration
func.func @control_flow(%c: i1, %n: index, %x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = scf.if %c -> tensor<3x?x8xf32, #ragged.layout<"dr|d">> {
    scf.yield %x : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  } else {
    %e = math.exp %x : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
    scf.yield %e : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  }
  %b = scf.for %i = %c0 to %n step %c1 iter_args(%y = %a) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">> {
    %f = arith.addf %y, %y : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
    scf.yield %f : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  }
  %d = scf.while (%y = %b) : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">> {
    scf.condition(%c) %y : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  } do {
  ^bb0(%z: tensor<3x?x8xf32, #ragged.layout<"dr|d">>):
    scf.yield %z : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  }
  %r = func.call @declaration(%d) : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %r : tensor<3x?xf32, #ragged.layout<"dr">>
}
