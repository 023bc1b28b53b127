// RUN: ragged-opt %s --ragged-simplify-splits | FileCheck %s

#dr = #ragged.layout<"dr">
#dt = #ragged.layout<"dt">
#ddr = #ragged.layout<"ddr">

// CHECK-LABEL: func.func @two_dims
// CHECK: tensor.expand_shape %{{.*}} {{\[}}[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
// CHECK: math.exp %{{.*}} : tensor<2x4xf32>
// CHECK: ragged.merge %{{.*}} {dim = 0} : (tensor<2x4xf32>) -> tensor<8xf32>
func.func @two_dims(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = ragged.split %x {dim = 0, factor = 4} : (tensor<8xf32>) -> tensor<2x4xf32, #dt>
  %e = ragged.empty %0 : (tensor<2x4xf32, #dt>) -> tensor<2x4xf32, #dt>
  %1 = linalg.exp ins(%0 : tensor<2x4xf32, #dt>) outs(%e : tensor<2x4xf32, #dt>) -> tensor<2x4xf32, #dt>
  %2 = math.exp %1 : tensor<2x4xf32, #dt>
  %3 = ragged.merge %2 {dim = 0} : (tensor<2x4xf32, #dt>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// [6] by 4 has holes, and a returned tile keeps its type.
// CHECK-LABEL: func.func @stays
// CHECK: ragged.split {{.*}} {dim = 0, factor = 4} :
// CHECK: ragged.split {{.*}} {dim = 0, factor = 3}
func.func @stays(%x: tensor<6xf32>) -> (tensor<2x4xf32, #dt>, tensor<2x3xf32, #dt>) {
  %0 = ragged.split %x {dim = 0, factor = 4} : (tensor<6xf32>) -> tensor<2x4xf32, #dt>
  %1 = ragged.split %x {dim = 0, factor = 3} : (tensor<6xf32>) -> tensor<2x3xf32, #dt>
  return %0, %1 : tensor<2x4xf32, #dt>, tensor<2x3xf32, #dt>
}

// Split-then-merge equals merge-then-split where the factor divides the inner extent.
// CHECK-LABEL: func.func @move
// CHECK: %[[S:.*]] = ragged.split %{{.*}} {dim = 1, factor = 4}
// CHECK-NEXT: ragged.merge %[[S]] {dim = 0}
func.func @move(%x: tensor<2x8x?xf32, #ddr>) -> tensor<4x4x?xf32, #ddr> {
  %0 = ragged.merge %x {dim = 0} : (tensor<2x8x?xf32, #ddr>) -> tensor<16x?xf32, #dr>
  %1 = ragged.split %0 {dim = 0, factor = 4} : (tensor<16x?xf32, #dr>) -> tensor<4x4x?xf32, #ddr>
  return %1 : tensor<4x4x?xf32, #ddr>
}

// CHECK-LABEL: func.func @does_not_move
// CHECK: %[[M:.*]] = ragged.merge
// CHECK-NEXT: ragged.split %[[M]]
func.func @does_not_move(%x: tensor<4x3x?xf32, #ddr>) -> tensor<3x4x?xf32, #ddr> {
  %0 = ragged.merge %x {dim = 0} : (tensor<4x3x?xf32, #ddr>) -> tensor<12x?xf32, #dr>
  %1 = ragged.split %0 {dim = 0, factor = 4} : (tensor<12x?xf32, #dr>) -> tensor<3x4x?xf32, #ddr>
  return %1 : tensor<3x4x?xf32, #ddr>
}
