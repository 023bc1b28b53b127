// RUN: ragged-opt %s --ragged-canonicalize | FileCheck %s

// Stock canonicalize loses or breaks the encoding here; our driver keeps those patterns off.

#dr = #ragged.layout<"dr">
#drd = #ragged.layout<"dr|d">
#tail = #ragged.layout<"d|dr">

// CHECK-LABEL: func.func @transpose_of_broadcast
// CHECK: linalg.broadcast
// CHECK: linalg.transpose
func.func @transpose_of_broadcast(%x: tensor<3x?xf32, #dr>, %e: tensor<3x?x8xf32, #drd>) -> tensor<8x3x?xf32, #tail> {
  %b = linalg.broadcast ins(%x : tensor<3x?xf32, #dr>) outs(%e : tensor<3x?x8xf32, #drd>) dimensions = [2]
  %o = ragged.empty %x {from = [-1, [0, 0], [0, 1]]} : (tensor<3x?xf32, #dr>) -> tensor<8x3x?xf32, #tail>
  %t = linalg.transpose ins(%b : tensor<3x?x8xf32, #drd>) outs(%o : tensor<8x3x?xf32, #tail>) permutation = [2, 0, 1]
  return %t : tensor<8x3x?xf32, #tail>
}

// The dense operand is longer than the ragged loop; its extent is not that of the others.
// CHECK-LABEL: func.func @static_extent
// CHECK-NOT: tensor.cast
// CHECK: return
func.func @static_extent(%x: tensor<3x?xf32, #dr>, %p: tensor<16xf32>, %q: tensor<?xf32>) -> tensor<3x?xf32, #dr> {
  %e = ragged.empty %x : (tensor<3x?xf32, #dr>) -> tensor<3x?xf32, #dr>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (i)>, affine_map<(b, i) -> (i)>, affine_map<(b, i) -> (b, i)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %p, %q : tensor<3x?xf32, #dr>, tensor<16xf32>, tensor<?xf32>) outs(%e : tensor<3x?xf32, #dr>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
      %s = arith.addf %a, %b : f32
      %t = arith.addf %s, %c : f32
      linalg.yield %t : f32
  } -> tensor<3x?xf32, #dr>
  return %0 : tensor<3x?xf32, #dr>
}
