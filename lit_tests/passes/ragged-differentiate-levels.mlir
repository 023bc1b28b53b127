// RUN: ragged-opt %s --split-input-file --ragged-differentiate | FileCheck %s

#lists = #ragged.layout<"drr">
#batches = #ragged.layout<"ddrr">

// A dim between the batch and its lists: the lists of the result are others, and its cotangent is read by index.
// CHECK-LABEL: func.func @between_vjp(
// CHECK-SAME: %[[X:[a-z0-9]*]]: {{.*}}, %[[W:[a-z0-9]*]]: tensor<2xf32>, %[[C:[a-z0-9]*]]: tensor<3x2x?x?xf32
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel", "parallel"]} ins(%[[W]] : tensor<2xf32>) outs(%{{.*}} : tensor<3x?x?xf32
// CHECK: tensor.extract %[[C]][
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "reduction", "reduction"]} ins(%[[X]], %[[C]] :
func.func @between(%x: tensor<3x?x?xf32, #lists>, %w: tensor<2xf32>) -> tensor<3x2x?x?xf32, #batches> {
  %e = ragged.empty %x, %w {from = [[0, 0], [1, 0], [0, 1], [0, 2]]} : (tensor<3x?x?xf32, #lists>, tensor<2xf32>) -> tensor<3x2x?x?xf32, #batches>
  %y = linalg.generic {indexing_maps = [affine_map<(b, y, i, k) -> (b, i, k)>, affine_map<(b, y, i, k) -> (y)>, affine_map<(b, y, i, k) -> (b, y, i, k)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%x, %w : tensor<3x?x?xf32, #lists>, tensor<2xf32>) outs(%e : tensor<3x2x?x?xf32, #batches>) {
  ^bb0(%in: f32, %q: f32, %out: f32):
    %m = arith.mulf %in, %q : f32
    linalg.yield %m : f32
  } -> tensor<3x2x?x?xf32, #batches>
  return %y : tensor<3x2x?x?xf32, #batches>
}

// -----

#lists = #ragged.layout<"drdr">

// What is between ragged levels stays: those below it are summed before those above it.
// CHECK-LABEL: func.func @below_first_vjp(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<3x?x2x?xf32, #ragged.layout<"drdr">>, %{{.*}}: tensor<2xf32>, %[[C:[a-z0-9]*]]: tensor<3xf32>)
// CHECK: %[[S:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[X]], %[[C]] :
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "reduction", "parallel"]} ins(%[[S]] : tensor<3x?x2xf32, #ragged.layout<"dr|d">>)
func.func @below_first(%x: tensor<3x?x2x?xf32, #lists>, %w: tensor<2xf32>) -> tensor<3xf32> {
  %zero = arith.constant dense<0.0> : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, i, y, k) -> (b, i, y, k)>, affine_map<(b, i, y, k) -> (y)>, affine_map<(b, i, y, k) -> (b)>],
                       iterator_types = ["parallel", "reduction", "reduction", "reduction"]}
    ins(%x, %w : tensor<3x?x2x?xf32, #lists>, tensor<2xf32>) outs(%zero : tensor<3xf32>) {
  ^bb0(%in: f32, %q: f32, %out: f32):
    %m = arith.mulf %in, %q : f32
    %a = arith.addf %out, %m : f32
    linalg.yield %a : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

#lists = #ragged.layout<"drr">

// Read along two ragged loops, but not along the batch, in a sum: element by element, as cotangents of the lists.
// CHECK-LABEL: func.func @some_vjp(
// CHECK-SAME: %[[X:[a-z0-9]*]]: {{.*}}, %{{.*}}: tensor<9x9xf32>, %[[C:[a-z0-9]*]]: tensor<3xf32>)
// CHECK: %[[T:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[X]], %[[C]] :
// CHECK: %[[V:.*]] = ragged.values %[[T]]
// CHECK: ragged.scatter_add %[[V]], %{{.*}}, %{{.*}} : (tensor<?xf32>, tensor<?xi64>, index) ->
func.func @some(%x: tensor<3x?x?xf32, #lists>, %p: tensor<9x9xf32>) -> tensor<3xf32> {
  %zero = arith.constant dense<0.0> : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, i, k) -> (b, i, k)>, affine_map<(b, i, k) -> (i, k)>, affine_map<(b, i, k) -> (b)>],
                       iterator_types = ["parallel", "reduction", "reduction"]}
    ins(%x, %p : tensor<3x?x?xf32, #lists>, tensor<9x9xf32>) outs(%zero : tensor<3xf32>) {
  ^bb0(%in: f32, %q: f32, %out: f32):
    %m = arith.mulf %in, %q : f32
    %a = arith.addf %out, %m : f32
    linalg.yield %a : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}
