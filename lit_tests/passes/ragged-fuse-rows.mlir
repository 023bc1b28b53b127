// RUN: ragged-opt %s --ragged-fuse="rows=16" --canonicalize | FileCheck %s
// RUN: ragged-opt %s --ragged-fuse --canonicalize | FileCheck %s --check-prefix=ALL

!rows = tensor<3x?x8xf32, #ragged.layout<"dr|d">>
!long = tensor<3x?x64xf32, #ragged.layout<"dr|d">>
!each = tensor<3x?xf32, #ragged.layout<"dr">>

#rows = affine_map<(b, i, f) -> (b, i, f)>
#component = affine_map<(b, i, f) -> (b)>
#row = affine_map<(b, i, f) -> (b, i)>

// What has a number for each component would part rows that are alike.

// CHECK-LABEL: func.func @short
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel"]}
// CHECK: arith.mulf
// CHECK: linalg.reduce
// ALL-LABEL: func.func @short
// ALL-NOT: iterator_types = ["parallel", "parallel", "parallel"]}
// ALL: iterator_types = ["parallel", "parallel", "reduction"]}
func.func @short(%x: !rows, %c: tensor<3xf32>, %zeros: !each) -> !each {
  %e = ragged.empty %x : (!rows) -> !rows
  %y = linalg.generic {indexing_maps = [#rows, #component, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %c : !rows, tensor<3xf32>) outs(%e : !rows) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> !rows
  %s = linalg.reduce { arith.addf } ins(%y : !rows) outs(%zeros : !each) dimensions = [2]
  return %s : !each
}

// Long rows are on vectors by themselves, and what has a number for each row, or none of its own, parts nothing.

// CHECK-LABEL: func.func @long
// CHECK-NOT: iterator_types = ["parallel", "parallel", "parallel"]}
// CHECK: return
func.func @long(%x: !long, %c: tensor<3xf32>, %zeros: !each) -> !each {
  %e = ragged.empty %x : (!long) -> !long
  %y = linalg.generic {indexing_maps = [#rows, #component, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %c : !long, tensor<3xf32>) outs(%e : !long) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> !long
  %s = linalg.reduce { arith.addf } ins(%y : !long) outs(%zeros : !each) dimensions = [2]
  return %s : !each
}

// CHECK-LABEL: func.func @alike
// CHECK-NOT: iterator_types = ["parallel", "parallel", "parallel"]}
// CHECK: return
func.func @alike(%x: !rows, %r: !each, %zeros: !each) -> !each {
  %e = ragged.empty %x : (!rows) -> !rows
  %y = linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %r : !rows, !each) outs(%e : !rows) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> !rows
  %s = linalg.reduce { arith.addf } ins(%y : !rows) outs(%zeros : !each) dimensions = [2]
  return %s : !each
}

// Of up to twice as many elements what one nest reads goes into it, and what several read does not.

!wide = tensor<3x?x16xf32, #ragged.layout<"dr|d">>

// CHECK-LABEL: func.func @once
// CHECK-NOT: iterator_types = ["parallel", "parallel", "parallel"]}
// CHECK: return
func.func @once(%x: !wide, %c: tensor<3xf32>, %zeros: !each) -> !each {
  %e = ragged.empty %x : (!wide) -> !wide
  %y = linalg.generic {indexing_maps = [#rows, #component, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %c : !wide, tensor<3xf32>) outs(%e : !wide) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> !wide
  %s = linalg.reduce { arith.addf } ins(%y : !wide) outs(%zeros : !each) dimensions = [2]
  return %s : !each
}

// CHECK-LABEL: func.func @several
// CHECK: iterator_types = ["parallel", "parallel", "parallel"]}
// CHECK: return
func.func @several(%x: !wide, %c: tensor<3xf32>, %zeros: !each) -> (!each, !wide) {
  %e = ragged.empty %x : (!wide) -> !wide
  %y = linalg.generic {indexing_maps = [#rows, #component, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %c : !wide, tensor<3xf32>) outs(%e : !wide) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> !wide
  %s = linalg.reduce { arith.addf } ins(%y : !wide) outs(%zeros : !each) dimensions = [2]
  %z = math.exp %y : !wide
  return %s, %z : !each, !wide
}

// Differences of all pairs of rows are nowhere else: they are far more than the rows.

!points = tensor<?x?x3xf32, #ragged.layout<"dr|d">>
!pairs = tensor<?x?x?x3xf32, #ragged.layout<"drr|d">>
!distances = tensor<?x?x?xf32, #ragged.layout<"drr">>

// CHECK-LABEL: func.func @pairs
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK: arith.subf
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @pairs(%x: !points, %y: !points, %zeros: !distances) -> !distances {
  %e = ragged.empty %x, %y {from = [[0, 0], [0, 1], [1, 1], -1]} : (!points, !points) -> !pairs
  %d = linalg.generic {indexing_maps = [affine_map<(b, i, j, f) -> (b, i, f)>, affine_map<(b, i, j, f) -> (b, j, f)>, affine_map<(b, i, j, f) -> (b, i, j, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %y : !points, !points) outs(%e : !pairs) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.subf %a, %b : f32
    linalg.yield %m : f32
  } -> !pairs
  %s = linalg.reduce { arith.addf } ins(%d : !pairs) outs(%zeros : !distances) dimensions = [3]
  return %s : !distances
}
