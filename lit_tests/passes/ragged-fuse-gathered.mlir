// RUN: ragged-opt %s --split-input-file --ragged-fuse --canonicalize --cse | FileCheck %s

#r = #ragged.layout<"dr">
#rows = #ragged.layout<"dr|d">
#rows_of_components = affine_map<(b, i, f) -> (b, f)>
#elements = affine_map<(b, i, f) -> (b, i)>
#all = affine_map<(b, i, f) -> (b, i, f)>
#sums = affine_map<(b, i, f) -> (b, f)>

// Rows of messages, each of which is read once, at the places of its key: they are computed there, of the component that an
// element is of, and of what is at its place.

// CHECK-LABEL: func.func @messages
// CHECK-SAME: (%[[NODES:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<?x?xf32, #ragged.layout<"dr">>, %{{.*}}: tensor<?x?x8xf32
// CHECK: %[[PLACES:.*]] = ragged.group_by
// CHECK-DAG: %[[ROWS:.*]] = ragged.row_ids %{{.*}} {level = 1}
// CHECK-DAG: %[[VALUES:.*]] = ragged.values %[[W]]
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[PLACES]] :
// CHECK: %[[F:.*]] = linalg.index 2
// CHECK-DAG: %[[B:.*]] = tensor.extract %[[ROWS]][%[[E:.*]]] : tensor<?xi64>
// CHECK-DAG: %[[ROW:.*]] = arith.index_cast %[[B]]
// CHECK-DAG: %[[X:.*]] = tensor.extract %[[NODES]][%[[ROW]], %[[F]]] : tensor<?x8xf32>
// CHECK-DAG: %[[Y:.*]] = tensor.extract %[[VALUES]][%[[E]]] : tensor<?xf32>
// CHECK: arith.mulf %[[X]], %[[Y]]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @messages(%nodes: tensor<?x8xf32>, %w: tensor<?x?xf32, #r>, %out: tensor<?x?x8xf32, #rows>, %keys: tensor<?xi64>,
                    %n: index, %zeros: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %empty = ragged.empty %w {from = [[0, 0], [0, 1], -1]} : (tensor<?x?xf32, #r>) -> tensor<?x?x8xf32, #rows>
  %terms = linalg.generic {indexing_maps = [#rows_of_components, #elements, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%nodes, %w : tensor<?x8xf32>, tensor<?x?xf32, #r>) outs(%empty : tensor<?x?x8xf32, #rows>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<?x?x8xf32, #rows>
  %stored = ragged.values %terms : (tensor<?x?x8xf32, #rows>) -> tensor<?x8xf32>
  %places = ragged.group_by %keys, %n : (tensor<?xi64>, index) -> tensor<?x?xi64, #r>
  %y = linalg.generic {indexing_maps = [#elements, #sums], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%places : tensor<?x?xi64, #r>) outs(%zeros : tensor<?x8xf32>) {
  ^bb0(%place: i64, %o: f32):
    %e = arith.index_cast %place : i64 to index
    %f = linalg.index 2 : index
    %x = tensor.extract %stored[%e, %f] : tensor<?x8xf32>
    %s = arith.addf %o, %x : f32
    linalg.yield %s : f32
  } -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// Of an argument's elements, whose structure is the argument's; what asks for the number of rows asks that.

// CHECK-LABEL: func.func @squares
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x8xf32, #ragged.layout<"dr|d">>
// CHECK: %[[V:.*]] = ragged.values %[[X]]
// CHECK: tensor.dim %[[V]], %c0
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK: %[[E:.*]] = tensor.extract %[[V]][%{{.*}}, %{{.*}}] : tensor<?x8xf32>
// CHECK: arith.mulf %[[E]], %[[E]]
// CHECK-NOT: arith.mulf
// CHECK: return
func.func @squares(%x: tensor<?x?x8xf32, #rows>, %keys: tensor<?xi64>, %n: index, %zeros: tensor<?x8xf32>) -> (tensor<?x8xf32>, index) {
  %terms = arith.mulf %x, %x : tensor<?x?x8xf32, #rows>
  %stored = ragged.values %terms : (tensor<?x?x8xf32, #rows>) -> tensor<?x8xf32>
  %c0 = arith.constant 0 : index
  %count = tensor.dim %stored, %c0 : tensor<?x8xf32>
  %places = ragged.group_by %keys, %n : (tensor<?xi64>, index) -> tensor<?x?xi64, #r>
  %y = linalg.generic {indexing_maps = [#elements, #sums], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%places : tensor<?x?xi64, #r>) outs(%zeros : tensor<?x8xf32>) {
  ^bb0(%place: i64, %o: f32):
    %e = arith.index_cast %place : i64 to index
    %f = linalg.index 2 : index
    %t = tensor.extract %stored[%e, %f] : tensor<?x8xf32>
    %s = arith.addf %o, %t : f32
    linalg.yield %s : f32
  } -> tensor<?x8xf32>
  return %y, %count : tensor<?x8xf32>, index
}

// -----

#r = #ragged.layout<"dr">
#row = affine_map<(b, i, f) -> (b, i)>
#all = affine_map<(b, f) -> (b, f)>
#sums = affine_map<(b, i, f) -> (b, f)>

// Places of another vector may be there twice, and single elements are as fast to read as what they are of: both are stored.

// CHECK-LABEL: func.func @any_places
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK: tensor.extract
// CHECK: return
func.func @any_places(%x: tensor<?x8xf32>, %out: tensor<?x8xf32>, %places: tensor<?x?xi64, #r>, %zeros: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %terms = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x8xf32>) outs(%out : tensor<?x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = math.exp %a : f32
    linalg.yield %p : f32
  } -> tensor<?x8xf32>
  %y = linalg.generic {indexing_maps = [#row, #sums], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%places : tensor<?x?xi64, #r>) outs(%zeros : tensor<?x8xf32>) {
  ^bb0(%place: i64, %o: f32):
    %e = arith.index_cast %place : i64 to index
    %f = linalg.index 2 : index
    %t = tensor.extract %terms[%e, %f] : tensor<?x8xf32>
    %s = arith.addf %o, %t : f32
    linalg.yield %s : f32
  } -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @elements
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: ragged.group_by
// CHECK: linalg.generic
// CHECK: tensor.extract
// CHECK: return
func.func @elements(%x: tensor<?xf32>, %out: tensor<?xf32>, %keys: tensor<?xi64>, %n: index, %zeros: tensor<?xf32>) -> tensor<?xf32> {
  %terms = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = math.exp %a : f32
    linalg.yield %p : f32
  } -> tensor<?xf32>
  %places = ragged.group_by %keys, %n : (tensor<?xi64>, index) -> tensor<?x?xi64, #r>
  %y = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b)>], iterator_types = ["parallel", "reduction"]}
      ins(%places : tensor<?x?xi64, #r>) outs(%zeros : tensor<?xf32>) {
  ^bb0(%place: i64, %o: f32):
    %e = arith.index_cast %place : i64 to index
    %t = tensor.extract %terms[%e] : tensor<?xf32>
    %s = arith.addf %o, %t : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
