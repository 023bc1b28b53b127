// RUN: ragged-run %s --entry scalars --input 3 --input=-2.5 --input true | FileCheck %s --check-prefix=SCALARS
// RUN: ragged-run %s --entry lists --input 3 --threads 1 | FileCheck %s --check-prefix=LISTS
// RUN: ragged-run %s --entry lists --input 5 --output %t.npz | FileCheck %s --check-prefix=SAVED

// Inputs in the order of the arguments; results printed, a ragged one as nested lists, or saved.

// SCALARS: result0 = 3
// SCALARS-NEXT: result1 = -2.5
// SCALARS-NEXT: result2 = True
func.func @scalars(%a: i64, %b: f32, %c: i1) -> (i64, f32, i1) {
  return %a, %b, %c : i64, f32, i1
}

// LISTS: lists: {{\[\[}}7, 8, 9], [], [10, 11]]
// LISTS-NEXT: result0 = {{\[\[}}7, 8, 9], [], [10, 11]]
// SAVED: lists: {{\[\[}}7, 8, 9, 10, 11], [], []]
// SAVED-NOT: result0
func.func @lists(%first: i64) -> tensor<3x?xi32, #ragged.layout<"dr">> {
  %values = arith.constant dense<[7, 8, 9, 10, 11]> : tensor<5xi32>
  %zero = arith.constant 0 : i64
  %all = arith.constant 5 : i64
  %offsets = tensor.from_elements %zero, %first, %first, %all : tensor<4xi64>
  %0 = ragged.partition %values, %offsets {dim = 0}
      : (tensor<5xi32>, tensor<4xi64>) -> tensor<3x?xi32, #ragged.layout<"dr">>
  ragged.print %0 {label = "lists"} : (tensor<3x?xi32, #ragged.layout<"dr">>) -> ()
  return %0 : tensor<3x?xi32, #ragged.layout<"dr">>
}
