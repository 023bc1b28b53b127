// RUN: ragged-opt %s --split-input-file --pass-pipeline="builtin.module(ragged-raise-attention{head-dims=64},ragged-canonicalize)" | FileCheck %s

#q = affine_map<(b, i, h, j, d) -> (b, i, h, d)>
#k = affine_map<(b, i, h, j, d) -> (b, j, h, d)>
#s = affine_map<(b, i, h, j, d) -> (b, i, h, j)>
#id = affine_map<(b, i, h, j) -> (b, i, h, j)>
#w = affine_map<(b, i, h, e, j) -> (b, i, h, j)>
#v = affine_map<(b, i, h, e, j) -> (b, j, h, e)>
#o = affine_map<(b, i, h, e, j) -> (b, i, h, e)>
!x = tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>
!s = tensor<3x?x4x?xf32, #ragged.layout<"drdr">>

// CHECK-LABEL: func.func @raised
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^%]*}}%[[K:[^:]*]]: {{[^%]*}}%[[V:[^:]*]]:
// CHECK: %[[O:.*]]:2 = ragged.attention %[[Q]], %[[K]], %[[V]] {scale = 2.500000e-01 : f64}
// CHECK-NOT: linalg
// CHECK: return %[[O]]#0
func.func @raised(%q: !x, %k: !x, %v: !x) -> !x {
  %zero = arith.constant 0.0 : f32
  %e = ragged.empty %q, %k {from = [[0, 0], [0, 1], [0, 2], [1, 1]]} : (!x, !x) -> !s
  %z = linalg.fill ins(%zero : f32) outs(%e : !s) -> !s
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : !x, !x) outs(%z : !s) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %c, %p : f32
    linalg.yield %r : f32
  } -> !s
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : !s) outs(%e : !s) {
  ^bb0(%a: f32, %c: f32):
    %scale = arith.constant 2.500000e-01 : f32
    %p = arith.mulf %a, %scale : f32
    linalg.yield %p : f32
  } -> !s
  %w = linalg.softmax dimension(3) ins(%t : !s) outs(%e : !s) -> !s
  %f = ragged.empty %q {from = [[0, 0], [0, 1], [0, 2], [0, 3]]} : (!x) -> !x
  %y = linalg.fill ins(%zero : f32) outs(%f : !x) -> !x
  %o = linalg.generic {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%w, %v : !s, !x) outs(%y : !x) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %c, %p : f32
    linalg.yield %r : f32
  } -> !x
  return %o : !x
}

// -----

#k = affine_map<(b, i, j, d) -> (b, j, d)>
#q = affine_map<(b, i, j, d) -> (b, i, d)>
#s = affine_map<(b, i, j, d) -> (b, i, j)>
!x = tensor<3x?x16xf32, #ragged.layout<"dr|d">>
!s = tensor<3x?x?xf32, #ragged.layout<"drr">>

// Without heads, and with factors in any order: values and results are seen with one head.

// CHECK-LABEL: func.func @without_heads
// CHECK-COUNT-3: tensor.expand_shape {{.*}} : tensor<?x16xf32> into tensor<?x1x16xf32>
// CHECK: ragged.attention {{.*}} {scale = 1.000000e+00 : f64}
// CHECK: tensor.collapse_shape
func.func @without_heads(%q: !x, %k: !x, %v: !x) -> !x {
  %zero = arith.constant 0.0 : f32
  %e = ragged.empty %q, %k {from = [[0, 0], [0, 1], [1, 1]]} : (!x, !x) -> !s
  %z = linalg.fill ins(%zero : f32) outs(%e : !s) -> !s
  %s = linalg.generic {indexing_maps = [#k, #q, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%k, %q : !x, !x) outs(%z : !s) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %b, %a : f32
    %r = arith.addf %p, %c : f32
    linalg.yield %r : f32
  } -> !s
  %w = linalg.softmax dimension(2) ins(%s : !s) outs(%e : !s) -> !s
  %f = ragged.empty %q {from = [[0, 0], [0, 1], [0, 2]]} : (!x) -> !x
  %y = linalg.fill ins(%zero : f32) outs(%f : !x) -> !x
  %o = linalg.generic {indexing_maps = [affine_map<(b, i, e, j) -> (b, j, e)>, affine_map<(b, i, e, j) -> (b, i, j)>,
                                        affine_map<(b, i, e, j) -> (b, i, e)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%v, %w : !x, !s) outs(%y : !x) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %c, %p : f32
    linalg.yield %r : f32
  } -> !x
  return %o : !x
}

// -----

#q = affine_map<(b, i, h, j, d) -> (b, i, h, d)>
#k = affine_map<(b, i, h, j, d) -> (b, j, h, d)>
#s = affine_map<(b, i, h, j, d) -> (b, i, h, j)>
#id = affine_map<(b, i, h, j) -> (b, i, h, j)>
#w = affine_map<(b, i, h, e, j) -> (b, i, h, j)>
#v = affine_map<(b, i, h, e, j) -> (b, j, h, e)>
#o = affine_map<(b, i, h, e, j) -> (b, i, h, e)>
!x = tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>
!s = tensor<3x?x4x?xf32, #ragged.layout<"drdr">>

// The weights are a result too.

// CHECK-LABEL: func.func @weights
// CHECK-NOT: ragged.attention
// CHECK: linalg.softmax
func.func @weights(%q: !x, %k: !x, %v: !x) -> (!x, !s) {
  %zero = arith.constant 0.0 : f32
  %e = ragged.empty %q, %k {from = [[0, 0], [0, 1], [0, 2], [1, 1]]} : (!x, !x) -> !s
  %z = linalg.fill ins(%zero : f32) outs(%e : !s) -> !s
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : !x, !x) outs(%z : !s) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %c, %p : f32
    linalg.yield %r : f32
  } -> !s
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : !s) outs(%e : !s) {
  ^bb0(%a: f32, %c: f32):
    %scale = arith.constant 2.500000e-01 : f32
    %p = arith.mulf %a, %scale : f32
    linalg.yield %p : f32
  } -> !s
  %w = linalg.softmax dimension(3) ins(%t : !s) outs(%e : !s) -> !s
  %f = ragged.empty %q {from = [[0, 0], [0, 1], [0, 2], [0, 3]]} : (!x) -> !x
  %y = linalg.fill ins(%zero : f32) outs(%f : !x) -> !x
  %o = linalg.generic {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%w, %v : !s, !x) outs(%y : !x) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %c, %p : f32
    linalg.yield %r : f32
  } -> !x
  return %o, %w : !x, !s
}

// -----

#q = affine_map<(b, i, h, j, d) -> (b, i, h, d)>
#k = affine_map<(b, i, h, j, d) -> (b, j, h, d)>
#s = affine_map<(b, i, h, j, d) -> (b, i, h, j)>
#id = affine_map<(b, i, h, j) -> (b, i, h, j)>
#w = affine_map<(b, i, h, e, j) -> (b, i, h, j)>
#v = affine_map<(b, i, h, e, j) -> (b, j, h, e)>
#o = affine_map<(b, i, h, e, j) -> (b, i, h, e)>
!x = tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>
!s = tensor<3x?x4x?xf32, #ragged.layout<"drdr">>

// What is added to scores is not a factor.

// CHECK-LABEL: func.func @shifted
// CHECK-NOT: ragged.attention
// CHECK: linalg.softmax
func.func @shifted(%q: !x, %k: !x, %v: !x) -> !x {
  %zero = arith.constant 0.0 : f32
  %e = ragged.empty %q, %k {from = [[0, 0], [0, 1], [0, 2], [1, 1]]} : (!x, !x) -> !s
  %z = linalg.fill ins(%zero : f32) outs(%e : !s) -> !s
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : !x, !x) outs(%z : !s) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %c, %p : f32
    linalg.yield %r : f32
  } -> !s
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : !s) outs(%e : !s) {
  ^bb0(%a: f32, %c: f32):
    %scale = arith.constant 2.500000e-01 : f32
    %p = arith.addf %a, %scale : f32
    linalg.yield %p : f32
  } -> !s
  %w = linalg.softmax dimension(3) ins(%t : !s) outs(%e : !s) -> !s
  %f = ragged.empty %q {from = [[0, 0], [0, 1], [0, 2], [0, 3]]} : (!x) -> !x
  %y = linalg.fill ins(%zero : f32) outs(%f : !x) -> !x
  %o = linalg.generic {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%w, %v : !s, !x) outs(%y : !x) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %c, %p : f32
    linalg.yield %r : f32
  } -> !x
  return %o : !x
}

// -----

#q = affine_map<(b, i, h, j, d) -> (b, i, h, d)>
#k = affine_map<(b, i, h, j, d) -> (b, j, h, d)>
#s = affine_map<(b, i, h, j, d) -> (b, i, h, j)>
#id = affine_map<(b, i, h, j) -> (b, i, h, j)>
#w = affine_map<(b, i, h, e, j) -> (b, i, h, j)>
#v = affine_map<(b, i, h, e, j) -> (b, j, h, e)>
#o = affine_map<(b, i, h, e, j) -> (b, i, h, e)>
!x = tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>
!s = tensor<3x?x4x?xf32, #ragged.layout<"drdr">>

// Sums that do not start from 0.

// CHECK-LABEL: func.func @from_one
// CHECK-NOT: ragged.attention
// CHECK: linalg.softmax
func.func @from_one(%q: !x, %k: !x, %v: !x) -> !x {
  %zero = arith.constant 1.0 : f32
  %e = ragged.empty %q, %k {from = [[0, 0], [0, 1], [0, 2], [1, 1]]} : (!x, !x) -> !s
  %z = linalg.fill ins(%zero : f32) outs(%e : !s) -> !s
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : !x, !x) outs(%z : !s) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %c, %p : f32
    linalg.yield %r : f32
  } -> !s
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : !s) outs(%e : !s) {
  ^bb0(%a: f32, %c: f32):
    %scale = arith.constant 2.500000e-01 : f32
    %p = arith.mulf %a, %scale : f32
    linalg.yield %p : f32
  } -> !s
  %w = linalg.softmax dimension(3) ins(%t : !s) outs(%e : !s) -> !s
  %f = ragged.empty %q {from = [[0, 0], [0, 1], [0, 2], [0, 3]]} : (!x) -> !x
  %y = linalg.fill ins(%zero : f32) outs(%f : !x) -> !x
  %o = linalg.generic {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%w, %v : !s, !x) outs(%y : !x) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %c, %p : f32
    linalg.yield %r : f32
  } -> !x
  return %o : !x
}

// -----

#q = affine_map<(b, i, h, j, d) -> (b, i, h, d)>
#k = affine_map<(b, i, h, j, d) -> (b, j, h, d)>
#s = affine_map<(b, i, h, j, d) -> (b, i, h, j)>
#id = affine_map<(b, i, h, j) -> (b, i, h, j)>
#w = affine_map<(b, i, h, e, j) -> (b, i, h, j)>
#v = affine_map<(b, i, h, e, j) -> (b, j, h, e)>
#o = affine_map<(b, i, h, e, j) -> (b, i, h, e)>
!x = tensor<3x?x4x128xf32, #ragged.layout<"dr|d|d">>
!s = tensor<3x?x4x?xf32, #ragged.layout<"drdr">>

// Head dims that the op is not made for.

// CHECK-LABEL: func.func @wide
// CHECK-NOT: ragged.attention
// CHECK: linalg.softmax
func.func @wide(%q: !x, %k: !x, %v: !x) -> !x {
  %zero = arith.constant 0.0 : f32
  %e = ragged.empty %q, %k {from = [[0, 0], [0, 1], [0, 2], [1, 1]]} : (!x, !x) -> !s
  %z = linalg.fill ins(%zero : f32) outs(%e : !s) -> !s
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : !x, !x) outs(%z : !s) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %c, %p : f32
    linalg.yield %r : f32
  } -> !s
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : !s) outs(%e : !s) {
  ^bb0(%a: f32, %c: f32):
    %scale = arith.constant 2.500000e-01 : f32
    %p = arith.mulf %a, %scale : f32
    linalg.yield %p : f32
  } -> !s
  %w = linalg.softmax dimension(3) ins(%t : !s) outs(%e : !s) -> !s
  %f = ragged.empty %q {from = [[0, 0], [0, 1], [0, 2], [0, 3]]} : (!x) -> !x
  %y = linalg.fill ins(%zero : f32) outs(%f : !x) -> !x
  %o = linalg.generic {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%w, %v : !s, !x) outs(%y : !x) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %c, %p : f32
    linalg.yield %r : f32
  } -> !x
  return %o : !x
}
