// RUN: ragged-opt %s --ragged-decompose-steps --canonicalize --cse --split-input-file | FileCheck %s

// Components from the longest to the shortest: those that have step %t are the first ones then. Where they start is
// looked up once for each, not for each row. What is read of the results is made: the states before each step are not.

!x = tensor<3x?x8xf32, #ragged.layout<"dr|d">>

// CHECK-LABEL: func.func @network
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %[[START:.*]]: tensor<3x8xf32>)
// CHECK: %[[LONGEST:.*]] = ragged.max_length %[[X]] {level = 1}
// CHECK: %[[SORTED:.*]] = ragged.group_by
// CHECK: %[[ORDER:.*]] = ragged.values %[[SORTED]]
// CHECK: %[[PLACES:.*]] = ragged.group_by %[[ORDER]]
// CHECK: %[[STARTS:.*]] = linalg.generic {{.*}} iterator_types = ["parallel"]} outs(%{{.*}} : tensor<?xi64>)
// CHECK: tensor.extract %[[ORDER]]
// CHECK: scf.for
// CHECK: } {ragged.fold = {kind = "scan"}}
// CHECK: %[[PACKED:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<?x?x8xf32, #ragged.layout<"dr|d">>)
// CHECK-NOT: tensor.extract %[[ORDER]]
// CHECK: tensor.extract %[[STARTS]]
// CHECK: %[[ROWS:.*]] = ragged.values %[[PACKED]]
// CHECK: %[[LOOP:.*]]:2 = scf.for %{{.*}} to %[[LONGEST]] {{.*}} iter_args(%[[STATES:.*]] = %{{.*}}, %[[OUT:.*]] = %{{.*}}) -> (tensor<3x8xf32>, tensor<?x8xf32>)
// CHECK: %[[STATE:.*]] = tensor.extract_slice %[[STATES]][0, 0] [%[[COUNT:.*]], 8] [1, 1]
// CHECK: %[[ROW:.*]] = tensor.extract_slice %[[ROWS]][%[[FIRST:.*]], 0] [%[[COUNT]], 8] [1, 1]
// CHECK: %[[SUM:.*]] = arith.addf %[[ROW]], %[[STATE]]
// CHECK: %[[NEXT:.*]] = math.tanh %[[SUM]]
// CHECK: tensor.insert_slice %[[NEXT]] into %[[STATES]][0, 0] [%[[COUNT]], 8] [1, 1]
// CHECK: tensor.insert_slice %[[NEXT]] into %[[OUT]][%[[FIRST]], 0] [%[[COUNT]], 8] [1, 1]
// CHECK: tensor.extract %[[LOOP]]#1
// CHECK: tensor.extract %[[LOOP]]#0
// CHECK-NOT: ragged.steps %
func.func @network(%x: !x, %start: tensor<3x8xf32>) -> (!x, tensor<3x8xf32>) {
  %before, %after, %end = ragged.steps %x, %start ({
  ^bb0(%row: tensor<?x8xf32>, %state: tensor<?x8xf32>):
    %sum = arith.addf %row, %state : tensor<?x8xf32>
    %next = math.tanh %sum : tensor<?x8xf32>
    ragged.yield %next, %next : (tensor<?x8xf32>, tensor<?x8xf32>) -> ()
  }) : (!x, tensor<3x8xf32>) -> (!x, !x, tensor<3x8xf32>)
  return %after, %end : !x, tensor<3x8xf32>
}

// -----

// With `reverse` the first step is the last place of the longest components. What steps capture stays where it is.

!x = tensor<?x?xf64, #ragged.layout<"dr">>

// CHECK-LABEL: func.func @reverse
// CHECK-SAME: (%[[X:.*]]: tensor<?x?xf64, #ragged.layout<"dr">>, %[[START:.*]]: tensor<?xf64>, %[[FACTOR:.*]]: f64)
// CHECK: %[[LONGEST:.*]] = ragged.max_length %[[X]] {level = 1}
// CHECK: %[[LOOP:.*]]:2 = scf.for %[[STEP:.*]] = %c0 to %[[LONGEST]]
// CHECK: %[[LAST:.*]] = arith.subi %[[LONGEST]], %c1
// CHECK: %[[PLACE:.*]] = arith.subi %[[LAST]], %[[STEP]]
// CHECK: tensor.extract %{{.*}}[%[[PLACE]]]
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?xf64>, tensor<?xf64>)
// CHECK: arith.mulf %{{.*}}, %[[FACTOR]] : f64
func.func @reverse(%x: !x, %start: tensor<?xf64>, %factor: f64) -> !x {
  %before, %end = ragged.steps %x, %start ({
  ^bb0(%row: tensor<?xf64>, %state: tensor<?xf64>):
    %next = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                            iterator_types = ["parallel"]}
        ins(%row, %state : tensor<?xf64>, tensor<?xf64>) outs(%row : tensor<?xf64>) {
    ^bb0(%a: f64, %b: f64, %out: f64):
      %c = arith.mulf %b, %factor : f64
      %d = arith.addf %a, %c : f64
      linalg.yield %d : f64
    } -> tensor<?xf64>
    ragged.yield %next : (tensor<?xf64>) -> ()
  }) {reverse} : (!x, tensor<?xf64>) -> (!x, tensor<?xf64>)
  return %before : !x
}

// -----

// What steps make others take as it is, in their order.

!x = tensor<?x?xf64, #ragged.layout<"dr">>

// CHECK-LABEL: func.func @both
// CHECK-COUNT-2: ragged.group_by
// CHECK-NOT: ragged.group_by
// CHECK: %[[FIRST:.*]]:2 = scf.for {{.*}} -> (tensor<?xf64>, tensor<?xf64>)
// CHECK: scf.for
// CHECK: tensor.extract_slice %[[FIRST]]#1
func.func @both(%x: !x, %start: tensor<?xf64>) -> tensor<?xf64> {
  %before, %sums, %end = ragged.steps %x, %start ({
  ^bb0(%row: tensor<?xf64>, %state: tensor<?xf64>):
    %next = arith.addf %row, %state : tensor<?xf64>
    ragged.yield %next, %next : (tensor<?xf64>, tensor<?xf64>) -> ()
  }) : (!x, tensor<?xf64>) -> (!x, !x, tensor<?xf64>)
  %others, %last = ragged.steps %sums, %start ({
  ^bb0(%row: tensor<?xf64>, %state: tensor<?xf64>):
    %next = arith.mulf %row, %state : tensor<?xf64>
    ragged.yield %next : (tensor<?xf64>) -> ()
  }) {reverse} : (!x, tensor<?xf64>) -> (!x, tensor<?xf64>)
  return %last : tensor<?xf64>
}

// -----

// Inside others too.

!x = tensor<?x?xf64, #ragged.layout<"dr">>

// CHECK-LABEL: func.func @inside
// CHECK-NOT: ragged.steps %
func.func @inside(%x: !x, %y: !x, %start: tensor<?xf64>) -> !x {
  %before, %end = ragged.steps %x, %start ({
  ^bb0(%row: tensor<?xf64>, %state: tensor<?xf64>):
    %inner, %last = ragged.steps %y, %start ({
    ^bb0(%a: tensor<?xf64>, %b: tensor<?xf64>):
      %c = arith.addf %a, %b : tensor<?xf64>
      ragged.yield %c : (tensor<?xf64>) -> ()
    }) : (!x, tensor<?xf64>) -> (!x, tensor<?xf64>)
    %c0 = arith.constant 0 : index
    %first = tensor.extract %last[%c0] : tensor<?xf64>
    %next = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%row : tensor<?xf64>) outs(%row : tensor<?xf64>) {
    ^bb0(%a: f64, %out: f64):
      %d = arith.addf %a, %first : f64
      linalg.yield %d : f64
    } -> tensor<?xf64>
    ragged.yield %next : (tensor<?xf64>) -> ()
  }) : (!x, tensor<?xf64>) -> (!x, tensor<?xf64>)
  return %before : !x
}
