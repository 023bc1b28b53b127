// RUN: not ragged-opt %s --pass-pipeline='builtin.module(ragged-canonicalize{seed=x})' 2>&1 | FileCheck %s
// RUN: not ragged-opt %s --pass-pipeline='builtin.module(ragged-canonicalize{depth=1})' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not ragged-opt %s --ragged-canonicalize 2>&1 | FileCheck %s --check-prefix=INPUT

// CHECK: expected an integer for 'seed', got 'x'
// UNKNOWN: expected an option of 'ragged-canonicalize' (seed), got 'depth'

// IR that does not verify never reaches the pass.
// INPUT: 'ragged.merge' op expected dim in [0, 0), got 0
func.func @invalid(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = ragged.merge %x {dim = 0} : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
