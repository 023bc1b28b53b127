// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt --cse --canonicalize --ragged-canonicalize | FileCheck %s

// Two exchanges under way at once; neither wait is removed, nor made one of two.
// CHECK-LABEL: func.func @two
// CHECK: %[[FIRST:.*]] = ragged.all_to_all_start
// CHECK: %[[SECOND:.*]] = ragged.all_to_all_start
// CHECK: ragged.all_to_all_wait %{{.*}}, %[[FIRST]] : (tensor<?x8xf32>, index) -> tensor<?x8xf32>
// CHECK: ragged.all_to_all_wait %{{.*}}, %[[SECOND]] : (tensor<?x8xf32>, index) -> tensor<?x8xf32>
func.func @two(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %a = ragged.all_to_all_start %x : (tensor<?x8xf32>) -> index
  %b = ragged.all_to_all_start %x : (tensor<?x8xf32>) -> index
  %0 = ragged.all_to_all_wait %x, %a : (tensor<?x8xf32>, index) -> tensor<?x8xf32>
  %1 = ragged.all_to_all_wait %x, %b : (tensor<?x8xf32>, index) -> tensor<?x8xf32>
  return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}
