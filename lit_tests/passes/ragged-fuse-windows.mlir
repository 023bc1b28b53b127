// RUN: ragged-opt %s --ragged-fuse | FileCheck %s

// Elements of windows are read where they are: the op that makes them contiguous stays for its structure, whose elements nobody
// needs then.
// CHECK-LABEL: func.func @differences
// CHECK-SAME: (%[[A:.*]]: tensor<3x?xf32, #ragged.layout<"dw">>, %[[B:.*]]: tensor<3x?xf32, #ragged.layout<"dw">>)
// CHECK-NEXT: %[[C:.*]] = ragged.compact %[[A]]
// CHECK: ragged.offsets %[[C]]
// CHECK-NEXT: %[[O:.*]] = ragged.empty %[[C]]
// CHECK-NEXT: linalg.generic
// CHECK-SAME: ins(%[[B]], %[[A]] : tensor<3x?xf32, #ragged.layout<"dw">>, tensor<3x?xf32, #ragged.layout<"dw">>)
// CHECK-SAME: outs(%[[O]] : tensor<3x?xf32, #ragged.layout<"dr">>)
// CHECK: arith.subf
// CHECK: return
func.func @differences(%a: tensor<3x?xf32, #ragged.layout<"dw">>, %b: tensor<3x?xf32, #ragged.layout<"dw">>) -> (tensor<?xi64>, tensor<3x?xf32, #ragged.layout<"dr">>) {
  %c = ragged.compact %a : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %d = ragged.compact %b : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %o = ragged.offsets %c {level = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
  %s = arith.subf %c, %d : tensor<3x?xf32, #ragged.layout<"dr">>
  return %o, %s : tensor<?xi64>, tensor<3x?xf32, #ragged.layout<"dr">>
}

// CHECK-LABEL: func.func @only_reader
// CHECK-SAME: (%[[A:.*]]: tensor
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[A]] : tensor<3x?xf32, #ragged.layout<"dw">>)
func.func @only_reader(%a: tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %c = ragged.compact %a : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %s = arith.negf %c : tensor<3x?xf32, #ragged.layout<"dr">>
  return %s : tensor<3x?xf32, #ragged.layout<"dr">>
}

// A product of its own needs them one after the other.
// CHECK-LABEL: func.func @product
// CHECK-NEXT: %[[C:.*]] = ragged.compact
// CHECK: ins(%[[C]], %{{.*}} : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
func.func @product(%a: tensor<3x?x8xf32, #ragged.layout<"dw|d">>, %w: tensor<8x8xf32>, %o: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">> {
  %c = ragged.compact %a : (tensor<3x?x8xf32, #ragged.layout<"dw|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  %p = linalg.contract indexing_maps = [affine_map<(b, l, n, k) -> (b, l, k)>, affine_map<(b, l, n, k) -> (k, n)>, affine_map<(b, l, n, k) -> (b, l, n)>] ins(%c, %w : tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<8x8xf32>) outs(%o : tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return %p : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
}

// A function of single elements fills vectors in a loop over all of them, and short windows do not.
// CHECK-LABEL: func.func @function_of_elements
// CHECK-NEXT: ragged.compact
// CHECK-NEXT: math.exp
// CHECK-NEXT: return
func.func @function_of_elements(%a: tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %c = ragged.compact %a : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %e = math.exp %c : tensor<3x?xf32, #ragged.layout<"dr">>
  return %e : tensor<3x?xf32, #ragged.layout<"dr">>
}

// Of rows it is in loops over these anyway.
// CHECK-LABEL: func.func @function_of_rows
// CHECK-SAME: (%[[A:.*]]: tensor
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[A]] : tensor<3x?x8xf32, #ragged.layout<"dw|d">>)
// CHECK: math.exp
func.func @function_of_rows(%a: tensor<3x?x8xf32, #ragged.layout<"dw|d">>) -> (tensor<?xi64>, tensor<3x?x8xf32, #ragged.layout<"dr|d">>) {
  %c = ragged.compact %a : (tensor<3x?x8xf32, #ragged.layout<"dw|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  %o = ragged.offsets %c {level = 1} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<?xi64>
  %e = math.exp %c : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return %o, %e : tensor<?xi64>, tensor<3x?x8xf32, #ragged.layout<"dr|d">>
}

// Beside folds a function would be in loops over components: all stays as it was.
// CHECK-LABEL: func.func @function_beside_a_fold
// CHECK-SAME: (%{{.*}}: tensor<3x?xf32, #ragged.layout<"dw">>
// CHECK: %[[C:.*]] = ragged.compact
// CHECK: ins(%[[C]] : tensor<3x?xf32, #ragged.layout<"dr">>)
// CHECK: math.exp
// CHECK: linalg.reduce {{.*}} ins(%[[C]] : tensor<3x?xf32, #ragged.layout<"dr">>)
func.func @function_beside_a_fold(%a: tensor<3x?xf32, #ragged.layout<"dw">>, %i: tensor<3xf32>) -> (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3xf32>) {
  %c = ragged.compact %a : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %n = arith.negf %c : tensor<3x?xf32, #ragged.layout<"dr">>
  %e = math.exp %n : tensor<3x?xf32, #ragged.layout<"dr">>
  %s = linalg.reduce { arith.addf } ins(%c : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%i : tensor<3xf32>) dimensions = [1]
  return %e, %s : tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3xf32>
}

// What is returned besides has no loop.
// CHECK-LABEL: func.func @returned
// CHECK: %[[C:.*]] = ragged.compact
// CHECK: math.exp %[[C]]
// CHECK: return %[[C]]
func.func @returned(%a: tensor<3x?xf32, #ragged.layout<"dw">>) -> (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) {
  %c = ragged.compact %a : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %e = math.exp %c : tensor<3x?xf32, #ragged.layout<"dr">>
  return %c, %e : tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>
}
