// RUN: not ragged-opt %s --pass-pipeline='builtin.module(ragged-simplify-splits{expand=2})' 2>&1 | FileCheck %s --check-prefix=BOOL
// RUN: not ragged-opt %s --pass-pipeline='builtin.module(ragged-simplify-splits{width=4})' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not ragged-opt %s --ragged-simplify-splits 2>&1 | FileCheck %s --check-prefix=INPUT

// BOOL: expected true or false for 'expand', got '2'
// UNKNOWN: expected an option of 'ragged-simplify-splits' (expand), got 'width'

// IR that does not verify never reaches the pass.
// INPUT: 'ragged.split' op expected a factor of at least 1, got 0
func.func @invalid(%x: tensor<?xf32>) -> tensor<?x1xf32, #ragged.layout<"dt">> {
  %0 = ragged.split %x {dim = 0, factor = 0} : (tensor<?xf32>) -> tensor<?x1xf32, #ragged.layout<"dt">>
  return %0 : tensor<?x1xf32, #ragged.layout<"dt">>
}
