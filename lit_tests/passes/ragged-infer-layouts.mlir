// RUN: ragged-opt %s --ragged-infer-layouts | FileCheck %s

#dr = #ragged.layout<"dr">
#drd = #ragged.layout<"dr|d">

// Forwards, backwards, through a call, a reduction and a broadcast; the mean stays dense.
// CHECK-LABEL: func.func @callee
// CHECK-SAME: (%{{.*}}: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
func.func @callee(%x: tensor<3x?x8xf32>) -> tensor<3x?x8xf32> {
  %0 = math.exp %x : tensor<3x?x8xf32>
  return %0 : tensor<3x?x8xf32>
}

// CHECK-LABEL: func.func @caller
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>,
// CHECK-SAME: -> (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3x8xf32>)
// CHECK-NOT: ragged.annotate
// CHECK: %[[Y:.*]] = call @callee(%[[X]])
// CHECK: ragged.empty %[[Y]] {from = {{\[}}[0, 0], [0, 1]]}
// CHECK: linalg.fill {{.*}} -> tensor<3x?xf32, #ragged.layout<"dr">>
// CHECK: linalg.reduce {{.*}} outs(%{{.*}} : tensor<3x?xf32, #ragged.layout<"dr">>)
// CHECK: linalg.broadcast {{.*}} outs(%{{.*}} : tensor<3x?x8xf32, #ragged.layout<"dr|d">>)
// CHECK: linalg.reduce {{.*}} outs(%{{.*}} : tensor<3x8xf32>)
func.func @caller(%x: tensor<3x?x8xf32>, %n: index, %m: tensor<3x8xf32>) -> (tensor<3x?x8xf32>, tensor<3x8xf32>) {
  %0 = ragged.annotate %x : (tensor<3x?x8xf32>) -> tensor<3x?x8xf32, #drd>
  %1 = call @callee(%x) : (tensor<3x?x8xf32>) -> tensor<3x?x8xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<3x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x?xf32>) -> tensor<3x?xf32>
  %r = linalg.reduce { arith.addf } ins(%1 : tensor<3x?x8xf32>) outs(%f : tensor<3x?xf32>) dimensions = [2]
  %g = tensor.empty(%n) : tensor<3x?x8xf32>
  %b = linalg.broadcast ins(%r : tensor<3x?xf32>) outs(%g : tensor<3x?x8xf32>) dimensions = [2]
  %s = linalg.reduce { arith.addf } ins(%b : tensor<3x?x8xf32>) outs(%m : tensor<3x8xf32>) dimensions = [1]
  return %b, %s : tensor<3x?x8xf32>, tensor<3x8xf32>
}

// CHECK-LABEL: func.func @loops
// CHECK-SAME: (%{{.*}}: tensor<3x?xf32, #ragged.layout<"dr">>
// CHECK: scf.for {{.*}} -> (tensor<3x?xf32, #ragged.layout<"dr">>)
// CHECK: scf.while {{.*}} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
// CHECK: scf.if {{.*}} -> (tensor<3x?xf32, #ragged.layout<"dr">>)
func.func @loops(%x: tensor<3x?xf32>, %a: index, %b: index, %c: i1) -> tensor<3x?xf32> {
  %r = scf.for %i = %a to %b step %b iter_args(%y = %x) -> tensor<3x?xf32> {
    %z = math.exp %y : tensor<3x?xf32>
    scf.yield %z : tensor<3x?xf32>
  }
  %w = scf.while (%p = %r) : (tensor<3x?xf32>) -> tensor<3x?xf32> {
    scf.condition(%c) %p : tensor<3x?xf32>
  } do {
  ^bb0(%u: tensor<3x?xf32>):
    scf.yield %u : tensor<3x?xf32>
  }
  %q = scf.if %c -> tensor<3x?xf32> {
    scf.yield %w : tensor<3x?xf32>
  } else {
    %t = arith.addf %x, %x : tensor<3x?xf32>
    scf.yield %t : tensor<3x?xf32>
  }
  %0 = ragged.annotate %q : (tensor<3x?xf32>) -> tensor<3x?xf32, #dr>
  return %q : tensor<3x?xf32>
}

// An annotation that removes a layout connects its sides as well.
// CHECK-LABEL: func.func @removes
// CHECK-SAME: -> tensor<3x?xf32, #ragged.layout<"dr">>
// CHECK-NOT: ragged.annotate
func.func @removes(%x: tensor<3x?xf32, #dr>) -> tensor<3x?xf32> {
  %0 = ragged.annotate %x : (tensor<3x?xf32, #dr>) -> tensor<3x?xf32>
  %1 = math.exp %0 : tensor<3x?xf32>
  return %1 : tensor<3x?xf32>
}

// Structure ops carry a layout from operand to result.
// CHECK-LABEL: func.func @structure
// CHECK: ragged.slice {{.*}} -> tensor<2x?xf32, #ragged.layout<"dr">>
func.func @structure(%x: tensor<3x?xf32>) -> tensor<2x?xf32> {
  %a = arith.constant 0 : index
  %b = arith.constant 2 : index
  %0 = ragged.annotate %x : (tensor<3x?xf32>) -> tensor<3x?xf32, #dr>
  %1 = ragged.slice %x, %a, %b {dim = 0} : (tensor<3x?xf32>, index, index) -> tensor<2x?xf32>
  return %1 : tensor<2x?xf32>
}

// Keys are farther from the annotation than queries: their scores have both lengths all the same.
// CHECK-LABEL: func.func @scores
// CHECK-SAME: -> tensor<?x?x?xf32, #ragged.layout<"drr">>
// CHECK: %[[Q:.*]] = math.exp
// CHECK: %[[K:.*]] = math.cos
// CHECK: linalg.contract {{.*}} ins(%[[Q]], %[[K]] : {{.*}} -> tensor<?x?x?xf32, #ragged.layout<"drr">>
func.func @scores(%x: tensor<?x?x64xf32>, %e: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %0 = ragged.annotate %x : (tensor<?x?x64xf32>) -> tensor<?x?x64xf32, #drd>
  %q = math.exp %x : tensor<?x?x64xf32>
  %1 = math.sin %x : tensor<?x?x64xf32>
  %k = math.cos %1 : tensor<?x?x64xf32>
  %s = linalg.contract
    indexing_maps = [affine_map<(b, s, t, d) -> (b, s, d)>, affine_map<(b, s, t, d) -> (b, t, d)>, affine_map<(b, s, t, d) -> (b, s, t)>]
    ins(%q, %k : tensor<?x?x64xf32>, tensor<?x?x64xf32>) outs(%e : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  return %s : tensor<?x?x?xf32>
}
