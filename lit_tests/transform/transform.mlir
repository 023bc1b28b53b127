// RUN: ragged-opt %s --split-input-file --ragged-transform-interpreter | FileCheck %s

// A pass on a function; the new handle points to it as it is after the pass. The other function stays.
#j = #ragged.layout<"dr">
module attributes {transform.with_named_sequence} {
  // CHECK-LABEL: func.func @f
  // CHECK-SAME: attributes {seen}
  // CHECK-NOT: ragged.partition
  func.func @f(%v: tensor<?xf32>, %o: tensor<?xi64>) -> tensor<?xf32> {
    %x = ragged.partition %v, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #j>
    %m = ragged.merge %x {dim = 0} : (tensor<?x?xf32, #j>) -> tensor<?xf32>
    return %m : tensor<?xf32>
  }
  // CHECK-LABEL: func.func @g
  // CHECK: ragged.partition
  func.func @g(%v: tensor<?xf32>, %o: tensor<?xi64>) -> tensor<?xf32> {
    %x = ragged.partition %v, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #j>
    %m = ragged.merge %x {dim = 0} : (tensor<?x?xf32, #j>) -> tensor<?xf32>
    return %m : tensor<?xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %f = transform.structured.match ops{["func.func"]} attributes {sym_name = "f"} in %root : (!transform.any_op) -> !transform.any_op
    %g = ragged_transform.apply %f {pipeline = "ragged-canonicalize,cse"} : (!transform.any_op) -> !transform.any_op
    transform.annotate %g "seen" : !transform.any_op
    transform.yield
  }
}

// -----

// What reduces dim 1 is matched and set, the op beside it is not; an empty handle is matched, set and run on.
#w = #ragged.layout<"dr|d">
module attributes {transform.with_named_sequence} {
  // CHECK-LABEL: func.func @h
  // CHECK: linalg.reduce {{.*}}{ragged.schedule = "balanced", ragged.threads = 128 : i64, ragged.unroll = 2 : i64}
  // CHECK: math.exp %{{.*}} : tensor
  func.func @h(%x: tensor<?x?x4xf32, #w>, %init: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x?x4xf32, #w>) {
    %y = linalg.reduce { arith.addf } ins(%x : tensor<?x?x4xf32, #w>) outs(%init : tensor<?x4xf32>) dimensions = [1]
    %z = math.exp %x : tensor<?x?x4xf32, #w>
    return %y, %z : tensor<?x4xf32>, tensor<?x?x4xf32, #w>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %s = ragged_transform.match %root {layout = "dr|d", dim = 1} : (!transform.any_op) -> !transform.any_op
    %t = ragged_transform.set %s {schedule = "balanced", threads = 128, unroll = 2} : (!transform.any_op) -> !transform.any_op
    %none = ragged_transform.match %root {name = "ragged.split"} : (!transform.any_op) -> !transform.any_op
    %still = ragged_transform.set %none {threads = 1} : (!transform.any_op) -> !transform.any_op
    %nothing = ragged_transform.apply %still {pipeline = "cse"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
