// RUN: ragged-opt %s --replace-empty-reshapes | FileCheck %s

// CHECK-LABEL: func.func @rows_without_features
// CHECK: %[[E:.*]] = tensor.empty() : tensor<0xf32>
// CHECK: %[[C:.*]] = tensor.cast %[[E]] : tensor<0xf32> to tensor<?xf32>
// CHECK: return %[[C]]
func.func @rows_without_features(%x: tensor<?x0xf32>) -> tensor<?xf32> {
  %c = tensor.collapse_shape %x [[0, 1]] : tensor<?x0xf32> into tensor<?xf32>
  return %c : tensor<?xf32>
}

// Extents of other groups are kept.
// CHECK-LABEL: func.func @other_groups
// CHECK: %[[N:.*]] = tensor.dim %arg0, %{{.*}} : tensor<?x4x0xf32>
// CHECK: %[[ROWS:.*]] = arith.muli %[[N]], %{{.*}} : index
// CHECK: tensor.empty(%[[ROWS]]) : tensor<?x0xf32>
func.func @other_groups(%x: tensor<?x4x0xf32>) -> tensor<?x0xf32> {
  %c = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x4x0xf32> into tensor<?x0xf32>
  return %c : tensor<?x0xf32>
}

// CHECK-LABEL: func.func @with_elements
// CHECK: tensor.collapse_shape
func.func @with_elements(%x: tensor<?x4xf32>) -> tensor<?xf32> {
  %c = tensor.collapse_shape %x [[0, 1]] : tensor<?x4xf32> into tensor<?xf32>
  return %c : tensor<?xf32>
}
