// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// The mark of a scan from the other end is a loop that reduces.

func.func @parallel(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %e: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{expected ragged.backwards to be a loop of a linalg.generic that reduces, got 1 : i64}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%e : tensor<3x?xf32, #ragged.layout<"dr">>) attrs = {ragged.backwards = 1 : i64} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

func.func @none(%x: tensor<3xf32>) {
  // expected-error@+1 {{expected ragged.backwards to be a loop of a linalg.generic that reduces, got 0 : i64}}
  %0 = arith.addf %x, %x {ragged.backwards = 0 : i64} : tensor<3xf32>
  return
}

// -----

func.func @beyond(%x: tensor<?xf32>, %e: tensor<f32>) {
  // expected-error@+1 {{expected ragged.backwards to be a loop of a linalg.generic that reduces, got 1 : i64}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<f32>) attrs = {ragged.backwards = 1 : i64} {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return
}
