// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Elementwise ops have one layout.
func.func @verify_compute_0(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %n: tensor<3x?xi32>) {
  // expected-error@+1 {{'math.fpowi' op expected operands and result of one layout, got tensor<3x?xi32> and tensor<3x?xf32, #ragged.layout<"dr">>}}
  %0 = math.fpowi %x, %n : tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xi32>
  return
}

// -----

// So has a softmax.
func.func @verify_compute_1(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %o: tensor<3x?xf32, #ragged.layout<"dw">>) {
  // expected-error@+1 {{'linalg.softmax' op expected ins and outs of one layout, got tensor<3x?xf32, #ragged.layout<"dr">> and tensor<3x?xf32, #ragged.layout<"dw">>}}
  %0 = linalg.softmax dimension(1) ins(%x : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%o : tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #ragged.layout<"dw">>
  return
}

// -----

// It reduces, so levels below go too.
func.func @verify_compute_2(%x: tensor<3x?x?xf32, #ragged.layout<"drr">>, %o: tensor<3x?x?xf32, #ragged.layout<"drr">>) {
  // expected-error@+1 {{'linalg.softmax' op expected every level of axis "drr" below dim 1 to be reduced too, got dim 2 kept (use ragged.reduce_across)}}
  %0 = linalg.softmax dimension(1) ins(%x : tensor<3x?x?xf32, #ragged.layout<"drr">>) outs(%o : tensor<3x?x?xf32, #ragged.layout<"drr">>) -> tensor<3x?x?xf32, #ragged.layout<"drr">>
  return
}

// -----

// A reduction over the batch mixes components.
func.func @verify_compute_3(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %o: tensor<?xf32>) {
  // expected-error@+1 {{'linalg.generic' op expected loop 0, a parent of ragged loop 1, in the result, got it reduced (use ragged.reduce_across)}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%o : tensor<?xf32>) {
  ^bb0(%e0: f32, %e1: f32):
    linalg.yield %e0 : f32
  } -> tensor<?xf32>
  return
}

// -----

// Results on a ragged loop are ragged.
func.func @verify_compute_4(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %o: tensor<3x?xf32>) {
  // expected-error@+1 {{'linalg.generic' op expected a result with a ragged level on loop 1 (dim 1 of operand 0 is ragged), got dense dim 1}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%o : tensor<3x?xf32>) {
  ^bb0(%e0: f32, %e1: f32):
    linalg.yield %e0 : f32
  } -> tensor<3x?xf32>
  return
}

// -----

// Levels nest, so each has its loop.
func.func @verify_compute_5(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %o: tensor<3xf32>) {
  // expected-error@+1 {{'linalg.generic' op expected a loop for every level of axis "dr", got loop 0 twice}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0, d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%o : tensor<3xf32>) {
  ^bb0(%e0: f32, %e1: f32):
    linalg.yield %e0 : f32
  } -> tensor<3xf32>
  return
}

// -----

// Ragged levels are indexed plainly.
func.func @verify_compute_6(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %o: tensor<3x2xf32>) {
  // expected-error@+1 {{'linalg.generic' op expected a plain loop index for dim 1 of layout "dr", got d0 + d1}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d0 + d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%o : tensor<3x2xf32>) {
  ^bb0(%e0: f32, %e1: f32):
    linalg.yield %e0 : f32
  } -> tensor<3x2xf32>
  return
}

// -----

// So are dense dims on a ragged loop.
func.func @verify_compute_7(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<9xf32>, %o: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'linalg.generic' op expected a plain index of ragged loop 1, got d1 + 1}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1 + 1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<3x?xf32, #ragged.layout<"dr">>, tensor<9xf32>) outs(%o : tensor<3x?xf32, #ragged.layout<"dr">>) {
  ^bb0(%e0: f32, %e1: f32, %e2: f32):
    linalg.yield %e0 : f32
  } -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Operands nest a loop alike.
func.func @verify_compute_8(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %o: tensor<3x3x?xf32>, %z: tensor<3xf32>) {
  // expected-error@+1 {{'linalg.generic' op expected parents [0] for ragged loop 1, got [2] in operand 1 (use ragged.reduce_across)}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x, %x : tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) outs(%z : tensor<3xf32>) {
  ^bb0(%e0: f32, %e1: f32, %e2: f32):
    linalg.yield %e0 : f32
  } -> tensor<3xf32>
  return
}

// -----

// A reduced level takes those below with it.
func.func @verify_compute_9(%x: tensor<3x?x?xf32, #ragged.layout<"drr">>, %o: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'linalg.reduce' op expected parents [0, 1] for ragged loop 2, got [0] in operand 1 (use ragged.reduce_across)}}
  %0 = linalg.reduce {arith.addf} ins(%x : tensor<3x?x?xf32, #ragged.layout<"drr">>) outs(%o : tensor<3x?xf32, #ragged.layout<"dr">>) dimensions = [1]
  return
}
