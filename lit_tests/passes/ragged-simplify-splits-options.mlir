// RUN: ragged-opt %s --pass-pipeline='builtin.module(ragged-simplify-splits{expand=false})' | FileCheck %s

// The split stays.
// CHECK-LABEL: func.func @options
// CHECK: ragged.split {{.*}} {dim = 0, factor = 4}
func.func @options(%x: tensor<8xf32>, %e: tensor<f32>) -> tensor<f32> {
  %0 = ragged.split %x {dim = 0, factor = 4} : (tensor<8xf32>) -> tensor<2x4xf32, #ragged.layout<"dt">>
  %1 = linalg.reduce { arith.addf } ins(%0 : tensor<2x4xf32, #ragged.layout<"dt">>) outs(%e : tensor<f32>) dimensions = [0, 1]
  return %1 : tensor<f32>
}
