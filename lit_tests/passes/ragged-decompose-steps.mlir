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
      %d = math.powf %a, %c : f64
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
    %next = math.atan2 %row, %state : tensor<?xf64>
    ragged.yield %next, %next : (tensor<?xf64>, tensor<?xf64>) -> ()
  }) : (!x, tensor<?xf64>) -> (!x, !x, tensor<?xf64>)
  %others, %last = ragged.steps %sums, %start ({
  ^bb0(%row: tensor<?xf64>, %state: tensor<?xf64>):
    %next = math.powf %row, %state : tensor<?xf64>
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

// -----

// Numbers made of numbers are one loop along each component, which stores what is read of the results. What is read at
// places of the state is inside until the places are checked, behind the loop: those of a component up to its first one
// that is not.

!x = tensor<?x?xi64, #ragged.layout<"dr">>
!rows = tensor<?x?x4xi64, #ragged.layout<"dr|d">>

// CHECK-LABEL: func.func @numbers
// CHECK-SAME: (%[[X:.*]]: tensor<?x?xi64, #ragged.layout<"dr">>, %[[ROWS:.*]]: tensor<?x?x4xi64, #ragged.layout<"dr|d">>, %[[START:.*]]: tensor<?xi64>)
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C4:.*]] = arith.constant 4 : index
// CHECK-NOT: ragged.group_by
// CHECK: %[[LOOP:.*]]:4 = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[X]] : {{.*}}) outs(%[[START]], {{.*}} attrs = {ragged.backwards = 1 : i64}
// CHECK: ^bb0(%[[IN:.*]]: i64, %[[STATE:.*]]: i64, %[[FINE:.*]]: i1, %{{.*}}: i64, %{{.*}}: i64):
// CHECK: %[[AT:.*]] = arith.index_cast %[[STATE]] : i64 to index
// CHECK: %[[IS:.*]] = arith.cmpi ult, %[[AT]], %[[C4]]
// CHECK: %[[PLACE:.*]] = arith.select %[[IS]], %[[AT]], %[[C0]]
// CHECK: %[[READ:.*]] = tensor.extract %[[ROWS]][%{{.*}}, %{{.*}}, %[[PLACE]]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[READ]], %[[IN]]
// CHECK: %[[OWN:.*]] = arith.select %[[FINE]], %[[STATE]], %{{.*}} : i64
// CHECK: %[[STILL:.*]] = arith.andi %[[FINE]], %[[IS]]
// CHECK: linalg.yield %[[NEXT]], %[[STILL]], %[[READ]], %[[OWN]]
// CHECK: %[[PLACES:.*]] = ragged.values %[[LOOP]]#3
// CHECK: ragged.assert_valid %[[PLACES]], %[[C4]] {kind = "index"
// CHECK: return %[[LOOP]]#2, %[[LOOP]]#0
func.func @numbers(%x: !x, %rows: !rows, %start: tensor<?xi64>) -> (!x, tensor<?xi64>) {
  %c4 = arith.constant 4 : index
  %before, %y, %end = ragged.steps %x, %rows, %start ({
  ^bb0(%in: tensor<?xi64>, %row: tensor<?x4xi64>, %state: tensor<?xi64>):
    ragged.assert_valid %state, %c4 {kind = "index", op = "take", level = 0} : (tensor<?xi64>, index) -> ()
    %read = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%state : tensor<?xi64>) outs(%state : tensor<?xi64>) {
    ^bb0(%a: i64, %out: i64):
      %i = linalg.index 0 : index
      %at = arith.index_cast %a : i64 to index
      %b = tensor.extract %row[%i, %at] : tensor<?x4xi64>
      linalg.yield %b : i64
    } -> tensor<?xi64>
    %next = arith.addi %read, %in : tensor<?xi64>
    ragged.yield %next, %read : (tensor<?xi64>, tensor<?xi64>) -> ()
  }) {reverse} : (!x, !rows, tensor<?xi64>) -> (!x, !x, tensor<?xi64>)
  return %y, %end : !x, tensor<?xi64>
}
