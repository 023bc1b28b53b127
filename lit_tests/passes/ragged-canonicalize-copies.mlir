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
