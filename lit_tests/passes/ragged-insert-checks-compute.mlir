// RUN: ragged-opt %s --ragged-insert-checks=arguments=false | FileCheck %s

// The batches of conforming operands are compared by the conformity check; features on their own.
// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<?x?x?xf32, #ragged.layout<"dr|d">>, %[[Y:[a-z0-9]*]]: tensor<?x?x?xf32, #ragged.layout<"dr|d">>)
// CHECK: ragged.assert_conform %[[X]], %[[Y]] {lhs = array<i64: 0, 1>, op = "arith.addf", rhs = array<i64: 0, 1>}
// CHECK: ragged.assert_valid %{{.*}}, %{{.*}} {kind = "equal", level = 2, op = "arith.addf"}
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @elementwise(%x: tensor<?x?x?xf32, #ragged.layout<"dr|d">>, %y: tensor<?x?x?xf32, #ragged.layout<"dr|d">>) {
  %0 = arith.addf %x, %y : tensor<?x?x?xf32, #ragged.layout<"dr|d">>
  %1 = arith.mulf %x, %x : tensor<?x?x?xf32, #ragged.layout<"dr|d">>
  return
}

// A scalar condition passes whole values, which need not conform.
// CHECK-LABEL: func.func @select
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @select(%c: i1, %x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>) {
  %0 = arith.select %c, %x, %y : tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// Dense operands: the batch's extent, and enough for the longest component.
// CHECK-LABEL: func.func @dense_operands
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[P:[a-z0-9]*]]: tensor<?x?xf32>)
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[B:.*]] = tensor.dim %[[P]], %c0
// CHECK: ragged.assert_valid %[[B]], %[[THREE]] {kind = "equal", level = 0, op = "linalg.generic"}
// CHECK-DAG: %[[N:.*]] = tensor.dim %[[P]], %c1
// CHECK-DAG: %[[L:.*]] = ragged.lengths %[[X]] {level = 1}
// CHECK: ragged.assert_valid %[[N]], %[[L]] {kind = "covers", level = 1, op = "linalg.generic"}
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @dense_operands(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %p: tensor<?x?xf32>) {
  %0 = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b, i)>], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<?x?xf32>) outs(%x : tensor<3x?xf32, #ragged.layout<"dr">>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// An index that is not a loop: the extent reaches as far as it does; static extents hold by their type.
// CHECK-LABEL: func.func @window
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<3x?x?xf32, #ragged.layout<"dr|d">>, %[[P:[a-z0-9]*]]: tensor<?xf32>
// CHECK-DAG: %[[K:.*]] = tensor.dim %[[X]], %{{.*}} : tensor<3x?x?xf32, #ragged.layout<"dr|d">>
// CHECK-DAG: %[[LAST:.*]] = arith.subi %[[K]], %c1
// CHECK-DAG: %[[TWICE:.*]] = arith.muli %[[LAST]], %c2
// CHECK-DAG: %[[SIZE:.*]] = arith.addi %{{.*}}, %c1
// CHECK-DAG: %[[N:.*]] = tensor.dim %[[P]]
// CHECK: ragged.assert_valid %[[N]], %[[SIZE]] {kind = "covers", level = 0, op = "linalg.generic"}
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @window(%x: tensor<3x?x?xf32, #ragged.layout<"dr|d">>, %p: tensor<?xf32>, %q: tensor<4xf32>) {
  %0 = linalg.generic {indexing_maps = [affine_map<(b, i, k) -> (b + k * 2)>, affine_map<(b, i, k) -> (b + 1)>, affine_map<(b, i, k) -> (b, i, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %q : tensor<?xf32>, tensor<4xf32>) outs(%x : tensor<3x?x?xf32, #ragged.layout<"dr|d">>) {
  ^bb0(%a: f32, %c: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<3x?x?xf32, #ragged.layout<"dr|d">>
  return
}

// A dense operand on the batch loop; the result conforms with its ragged operand.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: (%[[Q:[a-z0-9]*]]: tensor<?x?x8xf32, #ragged.layout<"dr|d">>, %[[S:[a-z0-9]*]]: tensor<?x8x4xf32>, %[[O:[a-z0-9]*]]: tensor<?x?x4xf32, #ragged.layout<"dr|d">>)
// CHECK: ragged.assert_valid %{{.*}}, %{{.*}} {kind = "equal", level = 0, op = "linalg.batch_matmul"}
// CHECK: ragged.assert_conform %[[Q]], %[[O]] {lhs = array<i64: 0, 1>, op = "linalg.batch_matmul", rhs = array<i64: 0, 1>}
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @matmul(%q: tensor<?x?x8xf32, #ragged.layout<"dr|d">>, %s: tensor<?x8x4xf32>, %o: tensor<?x?x4xf32, #ragged.layout<"dr|d">>) {
  %0 = linalg.batch_matmul ins(%q, %s : tensor<?x?x8xf32, #ragged.layout<"dr|d">>, tensor<?x8x4xf32>) outs(%o : tensor<?x?x4xf32, #ragged.layout<"dr|d">>) -> tensor<?x?x4xf32, #ragged.layout<"dr|d">>
  return
}

// Inside a region the checks stay inside, also for arguments.
// CHECK-LABEL: func.func @region
// CHECK: scf.if
// CHECK: ragged.assert_conform
// CHECK: } else {
// CHECK: ragged.assert_conform
func.func @region(%c: i1, %x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %r = scf.if %c -> tensor<3x?xf32, #ragged.layout<"dr">> {
    %0 = arith.addf %x, %y : tensor<3x?xf32, #ragged.layout<"dr">>
    scf.yield %0 : tensor<3x?xf32, #ragged.layout<"dr">>
  } else {
    %0 = arith.subf %x, %y : tensor<3x?xf32, #ragged.layout<"dr">>
    scf.yield %0 : tensor<3x?xf32, #ragged.layout<"dr">>
  }
  return %r : tensor<3x?xf32, #ragged.layout<"dr">>
}

// An assert in a body is made in front of the op, for all elements at once.
// CHECK-LABEL: func.func @body
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<?xi64>
// CHECK: %[[ALL:.*]] = linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[X]], %{{.*}} : tensor<?xi64>, tensor<?xi64>) outs(%{{.*}} : tensor<i64>)
// CHECK:   arith.cmpi slt
// CHECK:   arith.andi
// CHECK: %[[V:.*]] = tensor.extract %[[ALL]][]
// CHECK: %[[C:.*]] = arith.cmpi ne, %[[V]]
// CHECK: cf.assert %[[C]], "small"
// CHECK: linalg.generic
func.func @body(%x: tensor<?xi64>, %e: tensor<?xi64>, %n: i64) -> tensor<?xi64> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<?xi64>) outs(%e : tensor<?xi64>) {
  ^bb0(%a: i64, %o: i64):
    %c = arith.cmpi slt, %a, %n : i64
    cf.assert %c, "small"
    linalg.yield %a : i64
  } -> tensor<?xi64>
  return %0 : tensor<?xi64>
}

#a_above = affine_map<(b, p, l, m) -> (b, p, l)>
#x_above = affine_map<(b, p, l, m) -> (b, l, p, m)>
!a_above = tensor<?x3x?xf32, #ragged.layout<"ddr">>
!x_above = tensor<?x?x3x?xf32, #ragged.layout<"drdr">>
// What is above a level in one operand, and below it in another, is no parent there.

// CHECK-LABEL: func.func @parents_above
// CHECK: ragged.assert_conform %{{.*}}, %{{.*}} {lhs = array<i64: 0, 1, 2>, op = "linalg.generic", rhs = array<i64: 0, -1, 1>}
func.func @parents_above(%a: !a_above, %x: !x_above, %o: !a_above) -> !a_above {
  %r = linalg.generic {indexing_maps = [#a_above, #x_above, #a_above], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %x : !a_above, !x_above) outs(%o : !a_above) {
  ^bb0(%p: f32, %q: f32, %t: f32):
    %m = arith.mulf %p, %q : f32
    %u = arith.addf %t, %m : f32
    linalg.yield %u : f32
  } -> !a_above
  return %r : !a_above
}
