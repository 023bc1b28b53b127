// RUN: ragged-opt %s --split-input-file --ragged-transform-interpreter --verify-diagnostics=only-expected

// A pass runs on what the handle was; it is stale then.
module attributes {transform.with_named_sequence} {
  func.func @f() { return }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %f = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %g = ragged_transform.apply %f {pipeline = "cse"} : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{op uses a handle invalidated by a previously executed transform op}}
    transform.annotate %f "seen" : !transform.any_op
    transform.yield
  }
}

// -----

// So is a handle to what is inside of it.
module attributes {transform.with_named_sequence} {
  func.func @f() { return }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %f = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %r = transform.structured.match ops{["func.return"]} in %f : (!transform.any_op) -> !transform.any_op
    %g = ragged_transform.apply %f {pipeline = "cse"} : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{op uses a handle invalidated by a previously executed transform op}}
    transform.annotate %r "seen" : !transform.any_op
    transform.yield
  }
}

// -----

// One target twice.
module attributes {transform.with_named_sequence} {
  func.func @f() { return }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %f = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %two = transform.merge_handles %f, %f : !transform.any_op
    // expected-error@+1 {{a handle passed as operand #0 and consumed by this operation points to a payload entity}}
    %g = ragged_transform.apply %two {pipeline = "cse"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// A target inside of another.
module attributes {transform.with_named_sequence} {
  module @inner { func.func @f() { return } }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %f = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %m = transform.structured.match ops{["builtin.module"]} in %root : (!transform.any_op) -> !transform.any_op
    %both = transform.merge_handles %m, %f : !transform.any_op
    // expected-error@+1 {{op expected targets that are apart, got one inside of another}}
    %g = ragged_transform.apply %both {pipeline = "cse"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// Passes run on modules and functions.
module attributes {transform.with_named_sequence} {
  func.func @f() { return }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %r = transform.structured.match ops{["func.return"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{op expected targets among builtin.module, func.func, got 'func.return'}}
    %g = ragged_transform.apply %r {pipeline = "cse"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// A lowering changes signatures.
module attributes {transform.with_named_sequence} {
  func.func @f() { return }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %f = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{expected 'convert-ragged-to-scf' under 'builtin.module', got it under 'func.func'}}
    %g = ragged_transform.apply %f {pipeline = "convert-ragged-to-scf"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// A pipeline that is none.
module attributes {transform.with_named_sequence} {
  func.func @f() { return }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %f = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{expected '}' to close the options of 'cse'}}
    %g = ragged_transform.apply %f {pipeline = "cse{"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// No pipeline.
module attributes {transform.with_named_sequence} {
  func.func @f() { return }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %f = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{op attribute "pipeline" is expected but not provided}}
    %g = ragged_transform.apply %f : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// A setting that there is not.
module attributes {transform.with_named_sequence} {
  func.func @f() { return }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %f = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{op expected attributes among [schedule, threads, unroll, tile], strings or integers, got warps = 4 : i64}}
    %g = ragged_transform.set %f {warps = 4} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// What is set is a loop nest.
module attributes {transform.with_named_sequence} {
  func.func @f() { return }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %f = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{op expected loop nests, scf.forall or what computes on ragged tensors, got 'func.func'}}
    %g = ragged_transform.set %f {threads = 64} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// What a script has is of transform dialects.
module attributes {transform.with_named_sequence} {
  func.func @f() { return }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    // expected-error@+1 {{expected children ops to implement TransformOpInterface}}
    %c = arith.constant 1 : i64
    transform.yield
  }
}

// -----

// There is something to run.
// expected-error@+1 {{expected a sequence '__transform_main', got none}}
module attributes {transform.with_named_sequence} {
  func.func @f() { return }
}

// -----

// Dims count from 0; nothing would be found.
module attributes {transform.with_named_sequence} {
  func.func @f() { return }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    // expected-error@+1 {{expected dim of at least 0, got -1}}
    %f = ragged_transform.match %root {dim = -1} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
