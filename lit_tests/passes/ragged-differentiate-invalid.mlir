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

// The storage of a tangent has no gaps, and nothing says what these windows are a view of.
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

// -----

#jagged = #ragged.layout<"dr">

// One element of a ragged tensor has no place in zeros.
func.func @element(%x: tensor<3x?xf32, #jagged>, %i: index) -> f32 {
  // expected-error@+1 {{ragged-differentiate: expected an element of a dense tensor, got tensor<3x?xf32, #ragged.layout<"dr">>}}
  %y = tensor.extract %x[%i, %i] : tensor<3x?xf32, #jagged>
  return %y : f32
}

// -----

#rows = #ragged.layout<"dr|d">

// A slice of features is ragged.slice.
func.func @features(%x: tensor<3x?x4xf32, #rows>) -> tensor<3x?x2xf32, #rows> {
  %m = ragged.max_length %x {level = 1} : (tensor<3x?x4xf32, #rows>) -> index
  // expected-error@+1 {{ragged-differentiate: expected a slice of a dense tensor, got tensor<3x?x4xf32, #ragged.layout<"dr|d">>}}
  %y = tensor.extract_slice %x[0, 0, 0] [3, %m, 2] [1, 1, 1] : tensor<3x?x4xf32, #rows> to tensor<3x?x2xf32, #rows>
  return %y : tensor<3x?x2xf32, #rows>
}

// -----

// What is gathered has a place of its own for every element of the result.
func.func @gather(%x: tensor<9xf32>, %at: tensor<5xindex>, %i: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{ragged-differentiate: expected a gather without a reduction, got one in 'linalg.generic'}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
    ins(%at : tensor<5xindex>) outs(%i : tensor<f32>) {
  ^bb0(%in: index, %out: f32):
    %v = tensor.extract %x[%in] : tensor<9xf32>
    %s = arith.addf %out, %v : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}

// -----

#uniform = #ragged.layout<"ddr">
#rows = #ragged.layout<"dr|d">

// The lists of a component are as many as its rows, and ragged in one operand only.
func.func @uniform(%x: tensor<3x2x?xf32, #uniform>, %y: tensor<3x?x4xf32, #rows>) -> tensor<3xf32> {
  %zero = arith.constant dense<0.0> : tensor<3xf32>
  // expected-error@+1 {{ragged-differentiate: expected dims above a ragged one that are ragged in every operand or in none, got layout "ddr" with a dense one that is ragged in another operand}}
  %z = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b)>],
                       iterator_types = ["parallel", "reduction", "reduction"]}
    ins(%x, %y : tensor<3x2x?xf32, #uniform>, tensor<3x?x4xf32, #rows>) outs(%zero : tensor<3xf32>) {
  ^bb0(%in: f32, %q: f32, %out: f32):
    %m = arith.mulf %in, %q : f32
    %a = arith.addf %out, %m : f32
    linalg.yield %a : f32
  } -> tensor<3xf32>
  return %z : tensor<3xf32>
}

// -----

#pairs = #ragged.layout<"dr|dr">

// Read along the ragged loops of two axes, in a sum.
func.func @several(%x: tensor<3x?x2x?xf32, #pairs>, %p: tensor<9x9xf32>) -> tensor<3xf32> {
  %zero = arith.constant dense<0.0> : tensor<3xf32>
  // expected-error@+1 {{ragged-differentiate: expected a dense operand of a reduction along ragged loops of one axis, got several}}
  %y = linalg.generic {indexing_maps = [affine_map<(b, i, c, k) -> (b, i, c, k)>, affine_map<(b, i, c, k) -> (i, k)>, affine_map<(b, i, c, k) -> (b)>],
                       iterator_types = ["parallel", "reduction", "reduction", "reduction"]}
    ins(%x, %p : tensor<3x?x2x?xf32, #pairs>, tensor<9x9xf32>) outs(%zero : tensor<3xf32>) {
  ^bb0(%in: f32, %q: f32, %out: f32):
    %m = arith.mulf %in, %q : f32
    %a = arith.addf %out, %m : f32
    linalg.yield %a : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// What a branch of a body gathers has no place yet.
func.func @branch(%x: tensor<?xf32>, %c: tensor<4xi1>, %n: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{ragged-differentiate: expected gathers outside of branches, got one in 'scf.if'}}
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%c : tensor<4xi1>) outs(%n : tensor<4xf32>) {
  ^bb0(%in: i1, %out: f32):
    %i = linalg.index 0 : index
    %e = scf.if %in -> f32 {
      %v = tensor.extract %x[%i] : tensor<?xf32>
      scf.yield %v : f32
    } else {
      scf.yield %zero : f32
    }
    linalg.yield %e : f32
  } -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

// A part of a result says nothing about the rest of it.
func.func @part(%x: tensor<2xf32>, %i: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{ragged-differentiate: expected a reduction, or an iteration for every element of the result, got map (d0) -> (d0, 1) in 'linalg.generic'}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i, 1)>], iterator_types = ["parallel"]}
    ins(%x : tensor<2xf32>) outs(%i : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// Neither is the last of several elements a reduction.
func.func @last(%x: tensor<2x3xf32>, %i: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{ragged-differentiate: expected a reduction, or an iteration for every element of the result, got map (d0, d1) -> (d0) in 'linalg.generic'}}
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<2x3xf32>) outs(%i : tensor<2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// A difference from what there is so far changes its sign with every element.
func.func @alternating(%x: tensor<2x3xf32>, %i: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{ragged-differentiate: expected a reduction by one of arith.addf, arith.subf, arith.maximumf, arith.minimumf, arith.maxnumf, arith.minnumf, arith.mulf, got 'linalg.generic' with another body}}
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<2x3xf32>) outs(%i : tensor<2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.subf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// What a body makes of a tensor for each element would be taken of nothing.
func.func @rows(%x: tensor<8x4xf32>, %p: tensor<2xindex>, %o: tensor<2xf32>) -> tensor<2xf32> {
  %y = arith.addf %x, %x : tensor<8x4xf32>
  // expected-error@+1 {{ragged-differentiate: expected gathers by 'tensor.extract', got 'tensor.extract_slice'}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%p : tensor<2xindex>) outs(%o : tensor<2xf32>) {
  ^bb0(%i: index, %e: f32):
    %c0 = arith.constant 0 : index
    %row = tensor.extract_slice %y[%i, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<4xf32>
    %t = tensor.extract %row[%c0] : tensor<4xf32>
    linalg.yield %t : f32
  } -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @annotated(%x: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32> {
  // expected-error@+1 {{ragged-differentiate: expected no change of layout (run ragged-infer-layouts), got tensor<3x?xf32, #ragged.layout<"dr">> to tensor<3x?xf32>}}
  %s = ragged.annotate %x : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32>
  return %s : tensor<3x?xf32>
}

// -----

// Running sums that read those of another result.
func.func @running(%x: tensor<3x4xf64>, %s: tensor<3xf64>) -> tensor<3x4xf64> {
  %e = tensor.empty() : tensor<3x4xf64>
  // expected-error@+1 {{ragged-differentiate: expected a reduction of each result that reads no other one, got result #1 that reads #0}}
  %0:2 = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b)>, affine_map<(b, i) -> (b, i)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x4xf64>) outs(%s, %e : tensor<3xf64>, tensor<3x4xf64>) {
  ^bb0(%a: f64, %o: f64, %p: f64):
    %n = arith.addf %o, %a : f64
    linalg.yield %n, %n : f64, f64
  } -> (tensor<3xf64>, tensor<3x4xf64>)
  return %0#1 : tensor<3x4xf64>
}

// -----

// Iterations whose number depends on what is computed are differentiated by no list of ops.
func.func @repeated(%x: f64) -> f64 {
  %limit = arith.constant 9.0 : f64
  // expected-error@+1 {{ragged-differentiate: expected ops with a derivative, got 'scf.while' (scf.for, and rg.fori_loop, have one)}}
  %y = scf.while (%a = %x) : (f64) -> f64 {
    %p = arith.cmpf olt, %a, %limit : f64
    scf.condition(%p) %a : f64
  } do {
  ^bb0(%a: f64):
    %b = arith.mulf %a, %a : f64
    scf.yield %b : f64
  }
  return %y : f64
}

// -----

// What becomes a part of a complex number has a derivative that no rule knows: it is not 0.
func.func @complex(%x: f32, %y: f32) -> f32 {
  // expected-error@+1 {{expected floats and tensors of floats on the way to results, got complex<f32> of 'complex.create'}}
  %0 = complex.create %x, %y : complex<f32>
  %1 = complex.abs %0 : complex<f32>
  return %1 : f32
}

// -----

// Nor has an f80, of which the bindings do not know that it is a float.
func.func @wide(%x: f64) -> f64 {
  // expected-error@+1 {{floats on the way to results, got f80 of 'arith.extf'}}
  %0 = arith.extf %x : f64 to f80
  %1 = arith.mulf %0, %0 : f80
  %2 = arith.truncf %1 : f80 to f64
  return %2 : f64
}

// -----

// What is written to memory may be read again.
func.func @memory(%x: f32, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.alloca() : memref<1xf32>
  // expected-error@+1 {{floats on the way to results, got memref<1xf32> of 'scf.for'}}
  scf.for %i = %c0 to %n step %c1 {
    memref.store %x, %m[%c0] : memref<1xf32>
  }
  %v = memref.load %m[%c0] : memref<1xf32>
  return %v : f32
}

// -----

// A buffer of a tensor is one.
func.func @buffer(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{floats on the way to results, got memref<4xf32> of 'bufferization.to_buffer'}}
  %m = bufferization.to_buffer %x : tensor<4xf32> to memref<4xf32>
  %v = bufferization.to_tensor %m restrict : memref<4xf32> to tensor<4xf32>
  return %v : tensor<4xf32>
}

// -----

// Bodies write as well.
func.func @body(%x: tensor<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %m = memref.alloca() : memref<4xf32>
  // expected-error@+1 {{floats on the way to results, got memref<4xf32> of 'linalg.generic'}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    memref.store %a, %m[%i] : memref<4xf32>
    linalg.yield %a : f32
  } -> tensor<4xf32>
  %v = memref.load %m[%c0] : memref<4xf32>
  return %v : f32
}
