// RUN: ragged-opt %s | FileCheck %s

// Upstream tensor ops on dense dims of ragged tensors; ragged dims keep their letters.

// CHECK-LABEL: func.func @dense_dims
func.func @dense_dims(%x: tensor<?x?x8xf32, #ragged.layout<"dr|d">>) -> (index, f32, tensor<3x?x8xf32, #ragged.layout<"dr|d">>) {
  %c0 = arith.constant 0 : index
  // CHECK: tensor.dim
  %n = tensor.dim %x, %c0 : tensor<?x?x8xf32, #ragged.layout<"dr|d">>
  // CHECK: tensor.extract
  %e = tensor.extract %x[%c0, %c0, %c0] : tensor<?x?x8xf32, #ragged.layout<"dr|d">>
  // CHECK: tensor.cast
  %y = tensor.cast %x : tensor<?x?x8xf32, #ragged.layout<"dr|d">> to tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return %n, %e, %y : index, f32, tensor<3x?x8xf32, #ragged.layout<"dr|d">>
}

// CHECK-LABEL: func.func @features
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>)
func.func @features(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?x8xf32, #ragged.layout<"dr|d">>) {
  // CHECK: %[[N:.*]] = ragged.max_length %[[X]]
  %n = ragged.max_length %x {level = 1} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> index
  // CHECK: tensor.extract_slice %[[X]][0, 0, 2] [3, %[[N]], 1] [1, 1, 1]
  %0 = tensor.extract_slice %x[0, 0, 2] [3, %n, 1] [1, 1, 1] : tensor<3x?x8xf32, #ragged.layout<"dr|d">> to tensor<3x?xf32, #ragged.layout<"dr">>
  // CHECK: %[[W:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0], [1], [2, 3]]
  %1 = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [3, %n, 2, 4]
      : tensor<3x?x8xf32, #ragged.layout<"dr|d">> into tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
  // CHECK: tensor.collapse_shape %[[W]]
  %2 = tensor.collapse_shape %1 [[0], [1], [2, 3]] : tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">> into tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return %0, %2 : tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?x8xf32, #ragged.layout<"dr|d">>
}
