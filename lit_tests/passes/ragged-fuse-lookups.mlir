// RUN: ragged-opt %s --ragged-fuse="rows=16" --canonicalize | FileCheck %s
// RUN: ragged-opt %s --ragged-fuse --canonicalize | FileCheck %s --check-prefix=ALL

!ids = tensor<?x?xindex, #ragged.layout<"dr">>
!list = tensor<?x?xf32, #ragged.layout<"dr">>
!rows = tensor<?x?x8xf32, #ragged.layout<"dr|d">>
!pairs = tensor<?x?x?xf32, #ragged.layout<"drr">>
!sums = tensor<?x?xf32, #ragged.layout<"dr">>

#each = affine_map<(b, i) -> (b, i)>
#row = affine_map<(b, i, f) -> (b, i, f)>
#of_row = affine_map<(b, i, f) -> (b, i)>
#pair = affine_map<(b, i, j) -> (b, i, j)>
#first = affine_map<(b, i, j) -> (b, i)>
#second = affine_map<(b, i, j) -> (b, j)>

// Numbers of a table are looked up in a loop over all of them, with what is computed of them, before lists are added up.

// CHECK-LABEL: func.func @numbers
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]}
// CHECK: tensor.extract
// CHECK: arith.mulf
// CHECK: linalg.reduce { arith.addf } ins(%[[Y]]
// ALL-LABEL: func.func @numbers
// ALL: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]}
// ALL: tensor.extract
// ALL-NOT: linalg.reduce
// ALL: return
func.func @numbers(%table: tensor<?xf32>, %ids: !ids, %w: !list, %zeros: tensor<?xf32>) -> tensor<?xf32> {
  %e = ragged.empty %ids {from = [[0, 0], [0, 1]]} : (!ids) -> !list
  %t = linalg.generic {indexing_maps = [#each, #each], iterator_types = ["parallel", "parallel"]}
      ins(%ids : !ids) outs(%e : !list) {
  ^bb0(%i: index, %o: f32):
    %v = tensor.extract %table[%i] : tensor<?xf32>
    linalg.yield %v : f32
  } -> !list
  %y = arith.mulf %t, %w : !list
  %s = linalg.reduce { arith.addf } ins(%y : !list) outs(%zeros : tensor<?xf32>) dimensions = [1]
  return %s : tensor<?xf32>
}

// Rows are looked up where they are added.

// CHECK-LABEL: func.func @rows
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK-NOT: linalg.reduce
// CHECK: return
func.func @rows(%table: tensor<?x8xf32>, %ids: !ids, %zeros: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %e = ragged.empty %ids {from = [[0, 0], [0, 1], -1]} : (!ids) -> !rows
  %t = linalg.generic {indexing_maps = [#of_row, #row], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%ids : !ids) outs(%e : !rows) {
  ^bb0(%i: index, %o: f32):
    %f = linalg.index 2 : index
    %v = tensor.extract %table[%i, %f] : tensor<?x8xf32>
    linalg.yield %v : f32
  } -> !rows
  %s = linalg.reduce { arith.addf } ins(%t : !rows) outs(%zeros : tensor<?x8xf32>) dimensions = [1]
  return %s : tensor<?x8xf32>
}

// What is looked up for all pairs is nowhere else: there are far more pairs than elements.

// CHECK-LABEL: func.func @pairs
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-NOT: linalg.reduce
// CHECK: return
func.func @pairs(%table: tensor<?xf32>, %i: !ids, %j: !ids, %zeros: !sums) -> !sums {
  %e = ragged.empty %i, %j {from = [[0, 0], [0, 1], [1, 1]]} : (!ids, !ids) -> !pairs
  %t = linalg.generic {indexing_maps = [#first, #second, #pair], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%i, %j : !ids, !ids) outs(%e : !pairs) {
  ^bb0(%a: index, %b: index, %o: f32):
    %k = arith.addi %a, %b : index
    %v = tensor.extract %table[%k] : tensor<?xf32>
    linalg.yield %v : f32
  } -> !pairs
  %s = linalg.reduce { arith.addf } ins(%t : !pairs) outs(%zeros : !sums) dimensions = [2]
  return %s : !sums
}
