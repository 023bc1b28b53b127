// RUN: ragged-opt %s --pass-pipeline='builtin.module(ragged-to-gpu-pipeline{schedule=rowtools-warps})' | FileCheck %s
// RUN: ragged-opt %s --pass-pipeline='builtin.module(ragged-to-gpu-pipeline)' | FileCheck %s --check-prefix=AUTO
// RUN: not ragged-opt %s --no-plugins --pass-pipeline='builtin.module(ragged-to-gpu-pipeline{schedule=rowtools-warps})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NONE

// Every component has a warp: the schedule of a plug-in is taken where it is asked for, and nowhere else.
// CHECK-LABEL: func.func @f
// CHECK: gpu.launch_func @kernels::@f_{{[0-9]+}} blocks in ({{.*}}) threads in (%c32, %c1, %c1)
// AUTO-LABEL: func.func @f
// AUTO-NOT: threads in (%c32, %c1, %c1)
// NONE: expected a schedule among general, balanced, segment, contract, got 'rowtools-warps'
func.func @f(%x: tensor<?x?x64xf32, #ragged.layout<"dr|d">>) -> tensor<?x64xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x?x64xf32, #ragged.layout<"dr|d">>
  %empty = tensor.empty(%n) : tensor<?x64xf32>
  %none = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %sums = linalg.reduce ins(%x : tensor<?x?x64xf32, #ragged.layout<"dr|d">>) outs(%none : tensor<?x64xf32>) dimensions = [1]
    (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32  linalg.yield %s : f32 }
  return %sums : tensor<?x64xf32>
}
