// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

!x = tensor<3x?x8xf32, #ragged.layout<"dr|d">>

// CHECK-LABEL: func.func @network
// CHECK: ragged.steps %{{.*}}, %{{.*}} ({
// CHECK-NEXT: ^bb0(%[[ROW:.*]]: tensor<?x8xf32>, %[[STATE:.*]]: tensor<?x8xf32>):
// CHECK: ragged.yield %[[NEXT:.*]], %[[NEXT]] : (tensor<?x8xf32>, tensor<?x8xf32>) -> ()
// CHECK-NEXT: }) : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3x8xf32>) -> (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3x8xf32>)
func.func @network(%x: !x, %start: tensor<3x8xf32>) -> (!x, tensor<3x8xf32>) {
  %before, %after, %end = ragged.steps %x, %start ({
  ^bb0(%row: tensor<?x8xf32>, %state: tensor<?x8xf32>):
    %sum = arith.addf %row, %state : tensor<?x8xf32>
    %next = math.tanh %sum : tensor<?x8xf32>
    ragged.yield %next, %next : (tensor<?x8xf32>, tensor<?x8xf32>) -> ()
  }) : (!x, tensor<3x8xf32>) -> (!x, !x, tensor<3x8xf32>)
  return %after, %end : !x, tensor<3x8xf32>
}

// Several elements and states of several types, and one op inside another one's region in between.

!n = tensor<?x?xf64, #ragged.layout<"dr">>
!i = tensor<?x?xi32, #ragged.layout<"dr">>

// CHECK-LABEL: func.func @several
// CHECK: ragged.steps %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} ({
// CHECK: }) {reverse} : (tensor<?x?xf64, #ragged.layout<"dr">>, tensor<?x?xi32, #ragged.layout<"dr">>, tensor<?xi32>, tensor<?xf64>) -> (tensor<?x?xi32, #ragged.layout<"dr">>, tensor<?x?xf64, #ragged.layout<"dr">>, tensor<?xi32>, tensor<?xf64>)
func.func @several(%x: !n, %n: !i, %i: tensor<?xi32>, %s: tensor<?xf64>) -> (!i, !n) {
  %0:4 = ragged.steps %x, %n, %i, %s ({
  ^bb0(%x_row: tensor<?xf64>, %n_row: tensor<?xi32>, %i_state: tensor<?xi32>, %s_state: tensor<?xf64>):
    %more = arith.addi %n_row, %i_state : tensor<?xi32>
    %sum = arith.addf %x_row, %s_state : tensor<?xf64>
    ragged.yield %more, %sum : (tensor<?xi32>, tensor<?xf64>) -> ()
  }) {reverse} : (!n, !i, tensor<?xi32>, tensor<?xf64>) -> (!i, !n, tensor<?xi32>, tensor<?xf64>)
  return %0#0, %0#1 : !i, !n
}
