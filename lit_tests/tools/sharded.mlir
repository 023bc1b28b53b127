// RUN: ragged-opt %s --ragged-to-llvm-pipeline | FileCheck %s
// RUN: ragged-opt %s --ragged-to-gpu-pipeline | FileCheck %s

// What is distributed by nobody is a program of one process, whose arguments become buffers.
// CHECK: @f
func.func @f(%x: tensor<8x4xf32> {ragged.sharded}) -> tensor<8x4xf32> {
  %0 = arith.addf %x, %x : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
