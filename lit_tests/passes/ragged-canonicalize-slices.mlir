// RUN: ragged-opt %s --ragged-canonicalize | FileCheck %s

#dr = #ragged.layout<"dr">
#dw = #ragged.layout<"dw">

// CHECK-LABEL: func.func @slice_of_everything
// CHECK-SAME: (%[[X:.*]]: tensor
// CHECK-NEXT: %[[C:.*]] = tensor.cast %[[X]]
// CHECK-NEXT: return %[[C]]
func.func @slice_of_everything(%x: tensor<3x?xf32, #dr>) -> tensor<?x?xf32, #dr> {
  %lo = arith.constant 0 : index
  %hi = arith.constant 3 : index
  %0 = ragged.slice %x, %lo, %hi {dim = 0} : (tensor<3x?xf32, #dr>, index, index) -> tensor<?x?xf32, #dr>
  return %0 : tensor<?x?xf32, #dr>
}

// CHECK-LABEL: func.func @slice_of_slice
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32{{.*}}, %[[A:.*]]: index, %[[B:.*]]: index, %[[C:.*]]: index, %[[D:.*]]: index)
// CHECK-DAG: %[[LO:.*]] = arith.addi %[[A]], %[[C]]
// CHECK-DAG: %[[HI:.*]] = arith.addi %[[A]], %[[D]]
// CHECK: ragged.slice %[[X]], %[[LO]], %[[HI]] {dim = 1}
func.func @slice_of_slice(%x: tensor<3x?xf32, #dr>, %a: index, %b: index, %c: index, %d: index) -> tensor<3x?xf32, #dw> {
  %0 = ragged.slice %x, %a, %b {dim = 1} : (tensor<3x?xf32, #dr>, index, index) -> tensor<3x?xf32, #dw>
  %1 = ragged.slice %0, %c, %d {dim = 1} : (tensor<3x?xf32, #dw>, index, index) -> tensor<3x?xf32, #dw>
  return %1 : tensor<3x?xf32, #dw>
}

// CHECK-LABEL: func.func @select_of_slice
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32{{.*}}, %[[A:.*]]: index, %{{.*}}: index, %[[I:.*]]: index)
// CHECK: %[[K:.*]] = arith.addi %[[A]], %[[I]]
// CHECK: ragged.select %[[X]], %[[K]] {dim = 0}
func.func @select_of_slice(%x: tensor<3x?xf32, #dr>, %a: index, %b: index, %i: index) -> tensor<?xf32> {
  %0 = ragged.slice %x, %a, %b {dim = 0} : (tensor<3x?xf32, #dr>, index, index) -> tensor<?x?xf32, #dr>
  %1 = ragged.select %0, %i {dim = 0} : (tensor<?x?xf32, #dr>, index) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// One component of each operand is copied instead of all of them.
// CHECK-LABEL: func.func @select_of_concat
// CHECK-DAG: %[[A:.*]] = ragged.select %{{.*}} {dim = 0}
// CHECK-DAG: %[[B:.*]] = ragged.select %{{.*}} {dim = 0}
// CHECK: ragged.concat %{{.*}}, %{{.*}} {dim = 0} : (tensor<?xf32>, tensor<?xf32>)
func.func @select_of_concat(%x: tensor<3x?xf32, #dr>, %y: tensor<3x?xf32, #dr>, %i: index) -> tensor<?xf32> {
  %0 = ragged.concat %x, %y {dim = 1} : (tensor<3x?xf32, #dr>, tensor<3x?xf32, #dr>) -> tensor<3x?xf32, #dr>
  %1 = ragged.select %0, %i {dim = 0} : (tensor<3x?xf32, #dr>, index) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// CHECK-LABEL: func.func @assumes
// CHECK: ragged.assume %{{.*}} {divisible_by = 12, level = 1, max = 48, min = 4}
// CHECK-NOT: ragged.assume
func.func @assumes(%x: tensor<3x?xf32, #dr>) -> tensor<3x?xf32, #dr> {
  %0 = ragged.assume %x {level = 1, divisible_by = 4, max = 64} : (tensor<3x?xf32, #dr>) -> tensor<3x?xf32, #dr>
  %1 = ragged.assume %0 {level = 0, max = 3} : (tensor<3x?xf32, #dr>) -> tensor<3x?xf32, #dr>
  %2 = ragged.assume %1 {level = 1, divisible_by = 6, min = 4, max = 48} : (tensor<3x?xf32, #dr>) -> tensor<3x?xf32, #dr>
  return %2 : tensor<3x?xf32, #dr>
}

// A concatenation that is used twice stays one: chains of these would double.
// CHECK-LABEL: func.func @concat_of_shared
// CHECK-SAME: (%[[X:.*]]: tensor
// CHECK: %[[A:.*]] = ragged.concat %[[X]], %[[X]] {dim = 1}
// CHECK: %[[B:.*]] = ragged.concat %[[A]], %[[A]] {dim = 1}
// CHECK: return %[[B]]
func.func @concat_of_shared(%x: tensor<3x?xf32, #dr>) -> tensor<3x?xf32, #dr> {
  %0 = ragged.concat %x, %x {dim = 1} : (tensor<3x?xf32, #dr>, tensor<3x?xf32, #dr>) -> tensor<3x?xf32, #dr>
  %1 = ragged.concat %0, %0 {dim = 1} : (tensor<3x?xf32, #dr>, tensor<3x?xf32, #dr>) -> tensor<3x?xf32, #dr>
  return %1 : tensor<3x?xf32, #dr>
}

// Windows of the dim that is joined are read where they are; those of another one stay copies.
// CHECK-LABEL: func.func @concat_of_windows
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<3x?xf32, #[[W:.*]]>, %[[Y:[a-z0-9]*]]: tensor
// CHECK: ragged.concat %[[X]], %[[Y]] {dim = 1}
// CHECK: %[[C:.*]] = ragged.compact %[[X]]
// CHECK: ragged.concat %[[C]], %[[Y]] {dim = 0}
func.func @concat_of_windows(%x: tensor<3x?xf32, #ragged.layout<"dw">>, %y: tensor<3x?xf32, #dr>) -> (tensor<3x?xf32, #dr>, tensor<6x?xf32, #dr>) {
  %0 = ragged.compact %x : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #dr>
  %1 = ragged.concat %0, %y {dim = 1} : (tensor<3x?xf32, #dr>, tensor<3x?xf32, #dr>) -> tensor<3x?xf32, #dr>
  %2 = ragged.concat %0, %y {dim = 0} : (tensor<3x?xf32, #dr>, tensor<3x?xf32, #dr>) -> tensor<6x?xf32, #dr>
  return %1, %2 : tensor<3x?xf32, #dr>, tensor<6x?xf32, #dr>
}
