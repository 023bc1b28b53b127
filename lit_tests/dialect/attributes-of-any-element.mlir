// RUN: ragged-opt %s --split-input-file --ragged-to-llvm-pipeline | FileCheck %s

// Python has no class for these attributes.

#lists = #ragged.layout<"dr">
// CHECK-LABEL: llvm.func @arrays
func.func @arrays(%x: tensor<?x?xf32, #lists> {a.b = array<i128: 1>}) -> tensor<?x?xf32, #lists> attributes {a.b = array<f16: 1.0>} {
  %y = arith.addf %x, %x {a.b = array<ui8: 1>} : tensor<?x?xf32, #lists>
  return %y : tensor<?x?xf32, #lists>
}

// -----

#others = #ragged.layout<"dr">
// CHECK-LABEL: llvm.func @complex
func.func @complex(%x: tensor<?x?xf32, #others>) -> tensor<?x?xf32, #others> {
  %y = arith.addf %x, %x {a.b = dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>} : tensor<?x?xf32, #others>
  return %y : tensor<?x?xf32, #others>
}

// -----

#these = #ragged.layout<"dr">
// CHECK-LABEL: llvm.func @locations
func.func @locations(%x: tensor<?x?xf32, #these> {a.b = loc(unknown)}) -> tensor<?x?xf32, #these> attributes {a.b = loc("f":1:2)} {
  %y = arith.addf %x, %x {a.b = [loc("n"), loc(fused["m", "n"]), loc(callsite("a" at "b"))]} : tensor<?x?xf32, #these>
  return %y : tensor<?x?xf32, #these>
}
