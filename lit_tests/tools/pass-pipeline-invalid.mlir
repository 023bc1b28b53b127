// RUN: not ragged-opt %s --pass-pipeline="cse,nope" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not ragged-opt %s --pass-pipeline="func.func(cse" 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: not ragged-opt %s --pass-pipeline="func.func(convert-ragged-to-scf)" 2>&1 | FileCheck %s --check-prefix=ANCHOR
// RUN: not ragged-opt %s --pass-pipeline="cse,llvm-request-c-wrappers" 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: not ragged-opt %s --ragged-canonicalize=no-such=1 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not ragged-opt %s --ragged-canonicalise 2>&1 | FileCheck %s --check-prefix=NEAR

// UNKNOWN: ragged-opt: pipeline:1:5: error: expected a known pass, got 'nope'
// OPEN: ragged-opt: pipeline:1:14: error: expected ')' to close 'func.func('
// ANCHOR: pipeline:1:11: error: expected 'convert-ragged-to-scf' under 'builtin.module', got it under 'func.func'
// Pipelines as text say where passes run.
// NESTED: pipeline:1:5: error: 'llvm-request-c-wrappers': Can't add pass
// OPTION: pipeline:1:21: error: expected an option of 'ragged-canonicalize' ({{.*}}), got 'no-such'
// NEAR: expected a known flag or pass, got the unknown flag '--ragged-canonicalise' (did you mean '--ragged-canonicalize'
func.func @f() { return }
