// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize --cse | FileCheck %s

!one = tensor<3x?x4x1xf32, #ragged.layout<"dr|d|d">>
!three = tensor<3x?x4x3xf32, #ragged.layout<"dr|d|d">>
!wide = tensor<3x?x4xf32, #ragged.layout<"dr|d">>
!both = tensor<3x?x8xf32, #ragged.layout<"dr|d">>

// Single elements are written next to each other in one loop.
// CHECK-LABEL: func.func @interleaved
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<?x4x1xf32>
// CHECK: %[[A:.*]] = tensor.extract_slice %[[X]]
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[A]], %{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>)
// CHECK: linalg.index 2
// CHECK: arith.select
// CHECK: arith.select
// CHECK-NOT: tensor.insert_slice
// CHECK: return
func.func @interleaved(%x: !one, %y: !one, %z: !one) -> !three {
  %0 = ragged.concat %x, %y, %z {dim = 3} : (!one, !one, !one) -> !three
  return %0 : !three
}

// Longer parts of rows are copied.
// CHECK-LABEL: func.func @copied
// CHECK-NOT: linalg.generic
// CHECK-COUNT-2: tensor.insert_slice
// CHECK: return
func.func @copied(%x: !wide, %y: !wide) -> !both {
  %0 = ragged.concat %x, %y {dim = 2} : (!wide, !wide) -> !both
  return %0 : !both
}

!windows = tensor<3x?x4xf32, #ragged.layout<"dw|d">>
!rows = tensor<3x?x4xf32, #ragged.layout<"dr|d">>

// Components are joined one by one, all pieces of each: windows are read where they are.
// CHECK-LABEL: func.func @windows
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<?x4xf32>
// CHECK: scf.forall (%{{.*}}) in (%{{.*}}) shared_outs(%[[OUT:.*]] = %{{.*}}) -> (tensor<?x4xf32>)
// CHECK: %[[PLACE:.*]] = tensor.extract_slice %[[OUT]]
// CHECK: %[[PIECE:.*]] = tensor.extract_slice %[[W]]
// CHECK: %[[FIRST:.*]] = tensor.insert_slice %[[PIECE]] into %[[PLACE]][0, 0]
// CHECK: tensor.insert_slice %{{.*}} into %[[FIRST]]
// CHECK-NOT: scf.forall (
// CHECK: return
func.func @windows(%x: !windows, %y: !rows) -> !rows {
  %0 = ragged.concat %x, %y {dim = 1} : (!windows, !rows) -> !rows
  return %0 : !rows
}

// One operand is copied, and what is in its windows is contiguous then.
// CHECK-LABEL: func.func @single
// CHECK-SAME: %[[S:[a-z0-9]*]]: tensor<?x4xf32>
// CHECK: scf.forall (
// CHECK: tensor.extract_slice %[[S]]
// CHECK-NOT: scf.forall (
// CHECK: return
func.func @single(%x: !windows) -> !rows {
  %0 = ragged.concat %x {dim = 1} : (!windows) -> !rows
  return %0 : !rows
}

!unknown = tensor<3x?x?xf32, #ragged.layout<"dr|d">>

// Types of operands may know other extents each.
// CHECK-LABEL: func.func @unknown
// CHECK-SAME: %[[U:[a-z0-9]*]]: tensor<?x?xf32>
// CHECK: %[[KNOWN:.*]] = tensor.cast %[[U]] : tensor<?x?xf32> to tensor<?x4xf32>
// CHECK: scf.forall (
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[KNOWN]]
// CHECK: tensor.insert_slice %[[PART]]
// CHECK: return
func.func @unknown(%x: !unknown, %y: !rows) -> !rows {
  %0 = ragged.concat %x, %y {dim = 1} : (!unknown, !rows) -> !rows
  return %0 : !rows
}
