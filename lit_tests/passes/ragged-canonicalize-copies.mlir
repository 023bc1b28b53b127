// RUN: ragged-opt %s --ragged-canonicalize | FileCheck %s

// Of a loop that only copies upstream makes a cast, which keeps the elements where they are: it makes windows contiguous.
// CHECK-LABEL: func.func @copies
// CHECK-SAME: (%[[A:.*]]: tensor<3x?xf32, #ragged.layout<"dw">>, %{{.*}})
// CHECK-NEXT: %[[C:.*]] = ragged.compact %[[A]]
// CHECK-NEXT: return %[[C]] : tensor<3x?xf32, #ragged.layout<"dr">>
func.func @copies(%a: tensor<3x?xf32, #ragged.layout<"dw">>, %o: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %c = linalg.generic {indexing_maps = [affine_map<(b, l) -> (b, l)>, affine_map<(b, l) -> (b, l)>], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<3x?xf32, #ragged.layout<"dw">>) outs(%o : tensor<3x?xf32, #ragged.layout<"dr">>) {
  ^bb0(%x: f32, %y: f32):
    %n = arith.negf %x : f32
    %m = arith.negf %n : f32
    linalg.yield %m : f32
  } -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %c : tensor<3x?xf32, #ragged.layout<"dr">>
}

// Beside tiles a loop has their elements alone: what it does not reach stays what it was.
// CHECK-LABEL: func.func @beside_tiles
// CHECK: %[[Y:.*]] = linalg.generic
// CHECK: return %[[Y]]
func.func @beside_tiles(%s: tensor<3x2xi32, #ragged.layout<"dt">>, %w: tensor<3x2xi32>, %i: tensor<3x2xi32>) -> tensor<3x2xi32> {
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%s, %w : tensor<3x2xi32, #ragged.layout<"dt">>, tensor<3x2xi32>) outs(%i : tensor<3x2xi32>) {
  ^bb0(%p: i32, %q: i32, %o: i32):
    linalg.yield %q : i32
  } -> tensor<3x2xi32>
  return %y : tensor<3x2xi32>
}

// Equal likes are one, unless levels had other parents then.
// CHECK-LABEL: func.func @with_itself
// CHECK: ragged.empty %[[X:.*]], %[[X]] {from = {{\[\[}}0, 0], [0, 1], [1, 0], [1, 1]]}
// CHECK-LABEL: func.func @twice
// CHECK: ragged.empty %{{[^,]*}} {from = {{\[\[}}0, 0], [0, 1]]}
func.func @with_itself(%x: tensor<?x?xi32, #ragged.layout<"dr">>) -> tensor<?x?x?x?xi32, #ragged.layout<"drdr">> {
  %e = ragged.empty %x, %x {from = [[0, 0], [0, 1], [1, 0], [1, 1]]}
     : (tensor<?x?xi32, #ragged.layout<"dr">>, tensor<?x?xi32, #ragged.layout<"dr">>) -> tensor<?x?x?x?xi32, #ragged.layout<"drdr">>
  return %e : tensor<?x?x?x?xi32, #ragged.layout<"drdr">>
}
func.func @twice(%x: tensor<?x?xi32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %e = ragged.empty %x, %x {from = [[0, 0], [1, 1]]}
     : (tensor<?x?xi32, #ragged.layout<"dr">>, tensor<?x?xi32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %e : tensor<?x?xf32, #ragged.layout<"dr">>
}
