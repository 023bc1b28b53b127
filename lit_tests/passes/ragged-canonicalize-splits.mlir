// RUN: ragged-opt %s --ragged-canonicalize | FileCheck %s

#dr = #ragged.layout<"dr">
#drt = #ragged.layout<"drt">

// A split followed by its merge is the identity, holes or not.
// CHECK-LABEL: func.func @merge_of_split
// CHECK-SAME: (%[[X:.*]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @merge_of_split(%x: tensor<3x?xf32, #dr>) -> tensor<3x?xf32, #dr> {
  %0 = ragged.split %x {dim = 1, factor = 2} : (tensor<3x?xf32, #dr>) -> tensor<3x?x2xf32, #drt>
  %1 = ragged.merge %0 {dim = 1} : (tensor<3x?x2xf32, #drt>) -> tensor<3x?xf32, #dr>
  return %1 : tensor<3x?xf32, #dr>
}

// CHECK-LABEL: func.func @split_of_merge
// CHECK-SAME: (%[[X:.*]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @split_of_merge(%x: tensor<2x4x?xf32, #ragged.layout<"ddr">>) -> tensor<2x4x?xf32, #ragged.layout<"ddr">> {
  %0 = ragged.merge %x {dim = 0} : (tensor<2x4x?xf32, #ragged.layout<"ddr">>) -> tensor<8x?xf32, #dr>
  %1 = ragged.split %0 {dim = 0, factor = 4} : (tensor<8x?xf32, #dr>) -> tensor<2x4x?xf32, #ragged.layout<"ddr">>
  return %1 : tensor<2x4x?xf32, #ragged.layout<"ddr">>
}

// The inner extent is 3, so the tiles of 4 are not the rows.
// CHECK-LABEL: func.func @split_across_rows
// CHECK: ragged.merge
// CHECK: ragged.split
func.func @split_across_rows(%x: tensor<4x3x?xf32, #ragged.layout<"ddr">>) -> tensor<3x4x?xf32, #ragged.layout<"ddr">> {
  %0 = ragged.merge %x {dim = 0} : (tensor<4x3x?xf32, #ragged.layout<"ddr">>) -> tensor<12x?xf32, #dr>
  %1 = ragged.split %0 {dim = 0, factor = 4} : (tensor<12x?xf32, #dr>) -> tensor<3x4x?xf32, #ragged.layout<"ddr">>
  return %1 : tensor<3x4x?xf32, #ragged.layout<"ddr">>
}

// A split of a tile is a split of its outer part.
// CHECK-LABEL: func.func @split_of_tile
// CHECK: %[[A:.*]] = ragged.split %{{.*}} {dim = 1, factor = 2}
// CHECK: ragged.split %[[A]] {dim = 1, factor = 4}
func.func @split_of_tile(%x: tensor<3x?xf32, #dr>) -> tensor<3x?x4x2xf32, #ragged.layout<"drtt">> {
  %0 = ragged.split %x {dim = 1, factor = 8} : (tensor<3x?xf32, #dr>) -> tensor<3x?x8xf32, #drt>
  %1 = ragged.split %0 {dim = 2, factor = 2} : (tensor<3x?x8xf32, #drt>) -> tensor<3x?x4x2xf32, #ragged.layout<"drtt">>
  return %1 : tensor<3x?x4x2xf32, #ragged.layout<"drtt">>
}

// CHECK-LABEL: func.func @merge_of_tiles
// CHECK-NEXT: %[[A:.*]] = ragged.split %{{.*}} {dim = 1, factor = 8}
// CHECK-NEXT: return %[[A]]
func.func @merge_of_tiles(%x: tensor<3x?xf32, #dr>) -> tensor<3x?x8xf32, #drt> {
  %0 = ragged.split %x {dim = 1, factor = 2} : (tensor<3x?xf32, #dr>) -> tensor<3x?x2xf32, #drt>
  %1 = ragged.split %0 {dim = 1, factor = 4} : (tensor<3x?x2xf32, #drt>) -> tensor<3x?x4x2xf32, #ragged.layout<"drtt">>
  %2 = ragged.merge %1 {dim = 2} : (tensor<3x?x4x2xf32, #ragged.layout<"drtt">>) -> tensor<3x?x8xf32, #drt>
  return %2 : tensor<3x?x8xf32, #drt>
}

// The tiles of the argument are 3: four of them are 12, and there is one.
// CHECK-LABEL: func.func @tiles_of_a_root
// CHECK: %[[A:.*]] = ragged.split %{{.*}} {dim = 0, factor = 4} : (tensor<1x3xf32
// CHECK: ragged.merge %[[A]] {dim = 1}
func.func @tiles_of_a_root(%x: tensor<1x3xf32, #ragged.layout<"dt">>) -> tensor<?x12xf32, #ragged.layout<"dt">> {
  %0 = ragged.merge %x {dim = 0} : (tensor<1x3xf32, #ragged.layout<"dt">>) -> tensor<?xf32>
  %1 = ragged.split %0 {dim = 0, factor = 12} : (tensor<?xf32>) -> tensor<?x12xf32, #ragged.layout<"dt">>
  return %1 : tensor<?x12xf32, #ragged.layout<"dt">>
}

// 6 is two rows of 3: the split is one of the other dim.
// CHECK-LABEL: func.func @split_of_batch
// CHECK: %[[A:.*]] = ragged.split %{{.*}} {dim = 0, factor = 2}
// CHECK: ragged.merge %[[A]] {dim = 1}
func.func @split_of_batch(%x: tensor<?x3x?xf32, #ragged.layout<"ddr">>) -> tensor<?x6x?xf32, #ragged.layout<"ddr">> {
  %0 = ragged.merge %x {dim = 0} : (tensor<?x3x?xf32, #ragged.layout<"ddr">>) -> tensor<?x?xf32, #dr>
  %1 = ragged.split %0 {dim = 0, factor = 6} : (tensor<?x?xf32, #dr>) -> tensor<?x6x?xf32, #ragged.layout<"ddr">>
  return %1 : tensor<?x6x?xf32, #ragged.layout<"ddr">>
}

// That 3 divides the product says nothing of the inner extent.
// CHECK-LABEL: func.func @split_of_dynamic_batch
// CHECK: %[[A:.*]] = ragged.merge %{{.*}} {dim = 0}
// CHECK: ragged.split %[[A]] {dim = 0, factor = 3}
func.func @split_of_dynamic_batch(%x: tensor<?x?x?xf32, #ragged.layout<"ddr">>) -> tensor<?x3x?xf32, #ragged.layout<"ddr">> {
  %0 = ragged.merge %x {dim = 0} : (tensor<?x?x?xf32, #ragged.layout<"ddr">>) -> tensor<?x?xf32, #dr>
  %1 = ragged.split %0 {dim = 0, factor = 3} : (tensor<?x?xf32, #dr>) -> tensor<?x3x?xf32, #ragged.layout<"ddr">>
  return %1 : tensor<?x3x?xf32, #ragged.layout<"ddr">>
}
