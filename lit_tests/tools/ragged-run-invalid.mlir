// RUN: not ragged-run %s 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: not ragged-run %s --entry f 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not ragged-run %s --entry f --input x 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not ragged-run %s --entry f --input 6 2>&1 | FileCheck %s --check-prefix=CHECK
// RUN: not ragged-run %s --entry g --input %s 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not ragged-run %s --entry f --input 3 --target tpu 2>&1 | FileCheck %s --check-prefix=TARGET

// ENTRY: ragged-run: expected one public function or the name of an entry, got 2 functions
// COUNT: ragged-run: f: expected 1 inputs (argument 0), got 0
// NUMBER: ragged-run: expected a number of type int64, got 'x'
// CHECK: ragged-run: ragged.partition: level 1, component 1: expected offsets[2] >= offsets[1], got 5 < 6
// FILE: ragged-run-invalid.mlir: expected an .npy file with an array of numbers
// TARGET: ragged-run: expected a target among cpu, gpu, emulator, ptx-emulator, auto, got 'tpu'
func.func @f(%first: i64) -> tensor<2x?xi32, #ragged.layout<"dr">> {
  %values = arith.constant dense<[7, 8, 9, 10, 11]> : tensor<5xi32>
  %zero = arith.constant 0 : i64
  %all = arith.constant 5 : i64
  %offsets = tensor.from_elements %zero, %first, %all : tensor<3xi64>
  %0 = ragged.partition %values, %offsets {dim = 0}
      : (tensor<5xi32>, tensor<3xi64>) -> tensor<2x?xi32, #ragged.layout<"dr">>
  return %0 : tensor<2x?xi32, #ragged.layout<"dr">>
}
func.func @g(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
