// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize --cse | FileCheck %s

#dr = #ragged.layout<"dr">
#drt = #ragged.layout<"drt">

// Lengths are multiples of 8: every tile of 4 is full, and its loop static.
// CHECK-LABEL: func.func @argument_fact
// CHECK-NOT: ragged
// CHECK-NOT: arith.minsi
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}] [4] [1] : tensor<?xf32> to tensor<4xf32>
// CHECK-NOT: arith.minsi
// CHECK: return
func.func @argument_fact(%x: tensor<3x?xf32, #dr> {ragged.divisible_by = 8 : i64}, %e: tensor<4xf32>) -> tensor<4xf32> {
  %0 = ragged.split %x {dim = 1, factor = 4} : (tensor<3x?xf32, #dr>) -> tensor<3x?x4xf32, #drt>
  %1 = linalg.reduce { arith.addf } ins(%0 : tensor<3x?x4xf32, #drt>) outs(%e : tensor<4xf32>) dimensions = [0, 1]
  return %1 : tensor<4xf32>
}

// A multiple of 8 may leave a part of a tile of 3.
// CHECK-LABEL: func.func @holes
// CHECK: arith.minsi
// CHECK: tensor.extract_slice %{{.*}} : tensor<?xf32> to tensor<?xf32>
func.func @holes(%x: tensor<3x?xf32, #dr> {ragged.divisible_by = 8 : i64}, %e: tensor<3xf32>) -> tensor<3xf32> {
  %0 = ragged.split %x {dim = 1, factor = 3} : (tensor<3x?xf32, #dr>) -> tensor<3x?x3xf32, #drt>
  %1 = linalg.reduce { arith.addf } ins(%0 : tensor<3x?x3xf32, #drt>) outs(%e : tensor<3xf32>) dimensions = [0, 1]
  return %1 : tensor<3xf32>
}

// Facts go through ops, and a factor of a factor divides.
// CHECK-LABEL: func.func @assumed
// CHECK-NOT: arith.minsi
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}] [2] [1] : tensor<?xf32> to tensor<2xf32>
// CHECK-NOT: arith.minsi
// CHECK: return
func.func @assumed(%x: tensor<3x?xf32, #dr>, %e: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = ragged.assume %x {level = 1, divisible_by = 12} : (tensor<3x?xf32, #dr>) -> tensor<3x?xf32, #dr>
  %1 = math.exp %0 : tensor<3x?xf32, #dr>
  %2 = ragged.split %1 {dim = 1, factor = 6} : (tensor<3x?xf32, #dr>) -> tensor<3x?x6xf32, #drt>
  %3 = ragged.split %2 {dim = 2, factor = 2} : (tensor<3x?x6xf32, #drt>) -> tensor<3x?x3x2xf32, #ragged.layout<"drtt">>
  %4 = linalg.reduce { arith.addf } ins(%3 : tensor<3x?x3x2xf32, #ragged.layout<"drtt">>)
       outs(%e : tensor<3x2xf32>) dimensions = [0, 1]
  return %4 : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @constant_offsets
// CHECK-NOT: arith.minsi
// CHECK: return
func.func @constant_offsets(%x: tensor<20xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  %o = arith.constant dense<[0, 8, 20]> : tensor<3xi64>
  %0 = ragged.partition %x, %o {dim = 0} : (tensor<20xf32>, tensor<3xi64>) -> tensor<2x?xf32, #dr>
  %1 = ragged.split %0 {dim = 1, factor = 4} : (tensor<2x?xf32, #dr>) -> tensor<2x?x4xf32, #drt>
  %2 = linalg.reduce { arith.addf } ins(%1 : tensor<2x?x4xf32, #drt>) outs(%e : tensor<4xf32>) dimensions = [0, 1]
  return %2 : tensor<4xf32>
}
