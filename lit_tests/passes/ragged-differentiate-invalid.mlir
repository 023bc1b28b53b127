// RUN: ragged-opt %s --split-input-file --ragged-differentiate --verify-diagnostics

// The number of iterations is what a tangent would depend on.
func.func @while(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  // expected-error@+1 {{ragged-differentiate: expected ops with a derivative, got 'scf.while'}}
  %y = scf.while (%a = %x) : (f32) -> f32 {
    %c = arith.cmpf olt, %a, %one : f32
    scf.condition(%c) %a : f32
  } do {
  ^bb0(%a: f32):
    %b = arith.addf %a, %one : f32
    scf.yield %b : f32
  }
  return %y : f32
}

// -----

#jagged = #ragged.layout<"dr">

// What a body does with what it has so far has to be a known combination.
func.func @combiner(%x: tensor<3x?xf32, #jagged>, %i: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{ragged-differentiate: expected a reduction by one of arith.addf, arith.subf, arith.maximumf, arith.minimumf, arith.maxnumf, arith.minnumf, arith.mulf, got 'linalg.generic' with another body}}
  %s = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b)>], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<3x?xf32, #jagged>) outs(%i : tensor<3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %e = arith.divf %out, %in : f32
    linalg.yield %e : f32
  } -> tensor<3xf32>
  return %s : tensor<3xf32>
}

// -----

#jagged = #ragged.layout<"dr">

// The start of a max has no part in it.
func.func @start(%x: tensor<3x?xf32, #jagged>, %i: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{ragged-differentiate: expected a reduction by arith.maximumf to start from what is not differentiated, got a start with a derivative}}
  %s = linalg.reduce { arith.maximumf } ins(%x : tensor<3x?xf32, #jagged>) outs(%i : tensor<3xf32>) dimensions = [1]
  return %s : tensor<3xf32>
}

// -----

#jagged = #ragged.layout<"dr">

// A product over the components needs all of them.
func.func @across(%x: tensor<3x?xf32, #jagged>, %n: index) -> tensor<?xf32> {
  // expected-error@+1 {{ragged-differentiate: expected 'ragged.reduce_across' of kind sum, max or min, got prod}}
  %s = ragged.reduce_across %x, %n {dim = 1, kind = "prod"} : (tensor<3x?xf32, #jagged>, index) -> tensor<?xf32>
  return %s : tensor<?xf32>
}

// -----

#lists = #ragged.layout<"drr">

// The first component of several levels is not found.
func.func @across_levels(%x: tensor<3x?x?xf32, #lists>, %n: index) -> tensor<?xf32> {
  // expected-error@+1 {{ragged-differentiate: expected one batch dim above dim 2, got layout "drr"}}
  %s = ragged.reduce_across %x, %n {dim = 2, kind = "max"} : (tensor<3x?x?xf32, #lists>, index) -> tensor<?xf32>
  return %s : tensor<?xf32>
}

// -----

#window = #ragged.layout<"dw">

// The storage of a tangent has no gaps.
func.func @values(%x: tensor<3x?xf32, #window>) -> tensor<?xf32> {
  // expected-error@+1 {{ragged-differentiate: expected values without windows, got tensor<3x?xf32, #ragged.layout<"dw">> (use ragged.compact)}}
  %s = ragged.values %x : (tensor<3x?xf32, #window>) -> tensor<?xf32>
  return %s : tensor<?xf32>
}

// -----

// The blocks of a function say nothing about which of them run.
// expected-error@+1 {{ragged-differentiate: expected a function of one block, got 2}}
func.func @blocks(%x: f32) -> f32 {
  cf.br ^bb1
^bb1:
  return %x : f32
}
