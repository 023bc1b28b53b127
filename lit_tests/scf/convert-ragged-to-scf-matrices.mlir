// RUN: ragged-opt %s --split-input-file --convert-ragged-to-scf="isa=avx512" --canonicalize --cse | FileCheck %s
// RUN: ragged-opt %s --split-input-file --convert-ragged-to-scf --canonicalize --cse | FileCheck %s --check-prefix=ROWS

#x = affine_map<(b, i, j, k) -> (b, i, k)>
#y = affine_map<(b, i, j, k) -> (b, j, k)>
#o = affine_map<(b, i, j, k) -> (b, i, j)>
!x = tensor<?x?x8xf32, #ragged.layout<"dr|d">>
!o = tensor<?x?x?xf32, #ragged.layout<"drr">>

// The rows of a component have the length of another operand's: they are a matrix, and the product is one op. Without
// vectors it is one for each row.

// CHECK-LABEL: func.func @scores
// CHECK: scf.forall
// CHECK-NOT: scf.for
// CHECK: %[[MATRIX:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0, 1]]
// CHECK: %[[MADE:.*]] = linalg.generic {{.*}} ["parallel", "parallel", "reduction"]{{.*}} outs(%[[MATRIX]] : tensor<?x?xf32>)
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[MADE]] {{\[\[}}0, 1]]
// CHECK: tensor.parallel_insert_slice
// ROWS-LABEL: func.func @scores
// ROWS: scf.forall
// ROWS: scf.for
// ROWS: linalg.generic {{.*}} ["parallel", "reduction"]
func.func @scores(%x: !x, %y: !x, %o: !o) -> !o {
  %s = linalg.generic {indexing_maps = [#x, #y, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %y : !x, !x) outs(%o : !o) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> !o
  return %s : !o
}

// -----

#s = affine_map<(b, i, k, j) -> (b, i, j)>
#v = affine_map<(b, i, k, j) -> (b, j, k)>
#o = affine_map<(b, i, k, j) -> (b, i, k)>
!s = tensor<?x?x?xf32, #ragged.layout<"drr">>
!v = tensor<?x?x8xf32, #ragged.layout<"dr|d">>

// So is one that sums along the rows.

// CHECK-LABEL: func.func @weighted
// CHECK: scf.forall
// CHECK-NOT: scf.for
// CHECK: %[[WEIGHTS:.*]] = tensor.expand_shape
// CHECK: linalg.generic {{.*}} ["parallel", "parallel", "reduction"]{{.*}} ins(%[[WEIGHTS]], %{{.*}}
// CHECK-NOT: tensor.collapse_shape
// CHECK: return
// ROWS-LABEL: func.func @weighted
func.func @weighted(%s: !s, %v: !v, %o: !v) -> !v {
  %r = linalg.generic {indexing_maps = [#s, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s, %v : !s, !v) outs(%o : !v) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> !v
  return %r : !v
}

// -----

#s = affine_map<(b, i, j) -> (b, i, j)>
#o = affine_map<(b, i, j) -> (b, i)>
!s = tensor<?x?x?xf32, #ragged.layout<"drr">>
!o = tensor<?x?xf32, #ragged.layout<"dr">>

// Rows whose lengths nothing else has may have any.

// CHECK-LABEL: func.func @lists
// CHECK: scf.for
// CHECK-NOT: tensor.expand_shape
// CHECK: return
// ROWS-LABEL: func.func @lists
func.func @lists(%s: !s, %t: !s, %o: !o) -> !o {
  %r = linalg.generic {indexing_maps = [#s, #s, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s, %t : !s, !s) outs(%o : !o) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %u = arith.addf %c, %p : f32
    linalg.yield %u : f32
  } -> !o
  return %r : !o
}

// -----

#a = affine_map<(b, i, j, k) -> (b, k, i)>
#d = affine_map<(b, i, j, k) -> (b, j, i)>
#o = affine_map<(b, i, j, k) -> (b, j, k)>
!s = tensor<?x?x?xf32, #ragged.layout<"drr">>
!d = tensor<?x17x17xf32>

// Rows along a loop that another operand's lists are below are none: one after the other is computed.

// CHECK-LABEL: func.func @below
// CHECK: scf.forall
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: tensor.expand_shape
func.func @below(%x: !s, %y: !d, %o: !s) -> !s {
  %s = linalg.generic {indexing_maps = [#a, #d, #o], iterator_types = ["parallel", "reduction", "parallel", "parallel"]}
      ins(%x, %y : !s, !d) outs(%o : !s) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> !s
  return %s : !s
}
