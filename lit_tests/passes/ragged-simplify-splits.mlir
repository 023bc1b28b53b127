// RUN: ragged-opt %s --ragged-simplify-splits | FileCheck %s

#dr = #ragged.layout<"dr">
#drt = #ragged.layout<"drt">
#dt = #ragged.layout<"dt">
#ddr = #ragged.layout<"ddr">

// CHECK-LABEL: func.func @argument_fact
// CHECK: %[[S:.*]] = ragged.split %{{.*}} {dim = 1, factor = 4, ragged.divisible}
// CHECK: ragged.split %{{.*}} {dim = 1, factor = 3} :
// CHECK: linalg.reduce {{.*}} ins(%[[S]] {{.*}} {ragged.exact_loops = array<i64: 2>, ragged.vectorizable = 4 : i64}
func.func @argument_fact(%x: tensor<3x?xf32, #dr> {ragged.divisible_by = 8 : i64}, %e: tensor<3xf32>)
    -> (tensor<3xf32>, tensor<3x?x3xf32, #drt>) {
  %0 = ragged.split %x {dim = 1, factor = 4} : (tensor<3x?xf32, #dr>) -> tensor<3x?x4xf32, #drt>
  %1 = ragged.split %x {dim = 1, factor = 3} : (tensor<3x?xf32, #dr>) -> tensor<3x?x3xf32, #drt>
  %2 = linalg.reduce { arith.addf } ins(%0 : tensor<3x?x4xf32, #drt>) outs(%e : tensor<3xf32>) dimensions = [1, 2]
  return %2, %1 : tensor<3xf32>, tensor<3x?x3xf32, #drt>
}

// Facts go through ops, and a factor of a factor divides.
// CHECK-LABEL: func.func @assumed
// CHECK: ragged.split {{.*}} {dim = 1, factor = 6, ragged.divisible}
// CHECK: ragged.split {{.*}} {dim = 1, factor = 2, ragged.divisible}
// CHECK: ragged.split {{.*}} {dim = 1, factor = 2} :
func.func @assumed(%x: tensor<3x?xf32, #dr>) -> tensor<3x?x2x2x6xf32, #ragged.layout<"drttt">> {
  %0 = ragged.assume %x {level = 1, divisible_by = 12} : (tensor<3x?xf32, #dr>) -> tensor<3x?xf32, #dr>
  %1 = math.exp %0 : tensor<3x?xf32, #dr>
  %2 = ragged.split %1 {dim = 1, factor = 6} : (tensor<3x?xf32, #dr>) -> tensor<3x?x6xf32, #drt>
  %3 = ragged.split %2 {dim = 1, factor = 2} : (tensor<3x?x6xf32, #drt>) -> tensor<3x?x2x6xf32, #ragged.layout<"drtt">>
  %4 = ragged.split %3 {dim = 1, factor = 2}
       : (tensor<3x?x2x6xf32, #ragged.layout<"drtt">>) -> tensor<3x?x2x2x6xf32, #ragged.layout<"drttt">>
  return %4 : tensor<3x?x2x2x6xf32, #ragged.layout<"drttt">>
}

// CHECK-LABEL: func.func @constant_offsets
// CHECK: ragged.split {{.*}} {dim = 1, factor = 4, ragged.divisible}
func.func @constant_offsets(%x: tensor<20xf32>) -> tensor<2x?x4xf32, #drt> {
  %o = arith.constant dense<[0, 8, 20]> : tensor<3xi64>
  %0 = ragged.partition %x, %o {dim = 0} : (tensor<20xf32>, tensor<3xi64>) -> tensor<2x?xf32, #dr>
  %1 = ragged.split %0 {dim = 1, factor = 4} : (tensor<2x?xf32, #dr>) -> tensor<2x?x4xf32, #drt>
  return %1 : tensor<2x?x4xf32, #drt>
}

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
// CHECK: ragged.split {{.*}} {dim = 0, factor = 3, ragged.divisible}
func.func @stays(%x: tensor<6xf32>) -> (tensor<2x4xf32, #dt>, tensor<2x3xf32, #dt>) {
  %0 = ragged.split %x {dim = 0, factor = 4} : (tensor<6xf32>) -> tensor<2x4xf32, #dt>
  %1 = ragged.split %x {dim = 0, factor = 3} : (tensor<6xf32>) -> tensor<2x3xf32, #dt>
  return %0, %1 : tensor<2x4xf32, #dt>, tensor<2x3xf32, #dt>
}

// Split-then-merge equals merge-then-split where the factor divides the inner extent.
// CHECK-LABEL: func.func @move
// CHECK: %[[S:.*]] = ragged.split %{{.*}} {dim = 1, factor = 4, ragged.divisible}
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
