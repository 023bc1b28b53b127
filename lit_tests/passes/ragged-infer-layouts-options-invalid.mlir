// RUN: not ragged-opt %s --pass-pipeline='builtin.module(ragged-infer-layouts{depth=1})' 2>&1 | FileCheck %s

// CHECK: expected an option of 'ragged-infer-layouts' (seed), got 'depth'
