// RUN: ragged-opt %s --ragged-infer-layouts --split-input-file --verify-diagnostics

// Two layouts for one value: an error at both places.
func.func @two(%x: tensor<3x?xf32>) -> tensor<3x?xf32> {
  // expected-error@+1 {{expected one layout for a value, got "dr" here and "dw" elsewhere}}
  %0 = ragged.annotate %x : (tensor<3x?xf32>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %1 = math.exp %x : tensor<3x?xf32>
  // expected-error@+1 {{expected one layout for a value, got "dw" here and "dr" elsewhere}}
  %2 = ragged.annotate %1 : (tensor<3x?xf32>) -> tensor<3x?xf32, #ragged.layout<"dw">>
  return %1 : tensor<3x?xf32>
}

// -----

// An op in the way does not carry the layout.
func.func @pad(%x: tensor<3x?xf32>, %z: f32) -> tensor<3x?xf32> {
  // expected-error@+1 {{expected a layout that every connected op carries, got "dr" at tensor.pad}}
  %0 = ragged.annotate %x : (tensor<3x?xf32>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  // expected-error@+1 {{'tensor.pad' op expected tensors without a layout, got "dr" from an annotation}}
  %1 = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<3x?xf32> to tensor<3x?xf32>
  return %1 : tensor<3x?xf32>
}

// -----

// A ragged dim has no static extent.
// expected-error@+1 {{expected extent ? on ragged dim 1 of layout "dr", got 5}}
func.func @static(%x: tensor<3x5xf32>) {
  %0 = ragged.annotate %x : (tensor<3x5xf32>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// A reduction over the components of a dim that stays ragged.
func.func @across(%x: tensor<3x?xf32>, %e: tensor<?xf32>) -> tensor<?xf32> {
  %0 = ragged.annotate %x : (tensor<3x?xf32>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  // expected-error@+1 {{'linalg.reduce' op expected loops [0] above ragged loop 1, got [] (use ragged.reduce_across)}}
  %1 = linalg.reduce { arith.addf } ins(%x : tensor<3x?xf32>) outs(%e : tensor<?xf32>) dimensions = [0]
  return %1 : tensor<?xf32>
}

// -----

// The level of a ragged operand must be indexed by a loop.
func.func @index(%x: tensor<3x?xf32>, %e: tensor<3x?xf32>) -> tensor<3x?xf32> {
  %0 = ragged.annotate %x : (tensor<3x?xf32>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  // expected-error@+1 {{'linalg.generic' op expected a loop for dim 1 of layout "dr", got another index}}
  %1 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, i + j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x?xf32>) outs(%e : tensor<3x?xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
  } -> tensor<3x?xf32>
  return %1 : tensor<3x?xf32>
}

// -----

// A declaration cannot change its type.
func.func private @external(tensor<3x?xf32>)

func.func @call(%x: tensor<3x?xf32>) {
  %0 = ragged.annotate %x : (tensor<3x?xf32>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  // expected-error@+1 {{'func.call' op expected a function with a body to carry a layout into, got @external}}
  call @external(%x) : (tensor<3x?xf32>) -> ()
  return
}

// -----

// A structure op refuses the layout.
func.func @refused(%x: tensor<?x?xf32>, %o: tensor<?xi64>) -> tensor<?x?x?xf32, #ragged.layout<"d|dr">> {
  %0 = ragged.annotate %x : (tensor<?x?xf32>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  // expected-error@+1 {{'ragged.partition' op expected offsets of rank 2 for ragged dim 1, got rank 1}}
  %1 = ragged.partition %x, %o {dim = 1} : (tensor<?x?xf32>, tensor<?xi64>) -> tensor<?x?x?xf32, #ragged.layout<"d|dr">>
  return %1 : tensor<?x?x?xf32, #ragged.layout<"d|dr">>
}

// -----

// The structure of an empty is known only after it.
func.func @late(%n: index, %c: i1, %z: f32, %y: tensor<3x?xf32>) -> tensor<3x?xf32> {
  // expected-error@+1 {{'tensor.empty' op expected the tensor with its structure before it, got it after}}
  %e = tensor.empty(%n) : tensor<3x?xf32>
  %x = scf.if %c -> tensor<3x?xf32> {
    scf.yield %y : tensor<3x?xf32>
  } else {
    scf.yield %y : tensor<3x?xf32>
  }
  %0 = ragged.annotate %x : (tensor<3x?xf32>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %1 = linalg.exp ins(%x : tensor<3x?xf32>) outs(%e : tensor<3x?xf32>) -> tensor<3x?xf32>
  return %1 : tensor<3x?xf32>
}

// -----

// What an annotation says stays: the second length is not dense here.
func.func @given(%x: tensor<?x?x64xf32>, %e: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  // expected-error@+1 {{expected one layout for a value, got "drr" here and "dr|d" elsewhere}}
  %0 = ragged.annotate %x : (tensor<?x?x64xf32>) -> tensor<?x?x64xf32, #ragged.layout<"dr|d">>
  // expected-error@+1 {{expected one layout for a value, got "dr|d" here and "drr" elsewhere}}
  %1 = ragged.annotate %e : (tensor<?x?x?xf32>) -> tensor<?x?x?xf32, #ragged.layout<"dr|d">>
  %s = linalg.contract
    indexing_maps = [affine_map<(b, s, t, d) -> (b, s, d)>, affine_map<(b, s, t, d) -> (b, t, d)>, affine_map<(b, s, t, d) -> (b, s, t)>]
    ins(%x, %x : tensor<?x?x64xf32>, tensor<?x?x64xf32>) outs(%e : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  return %s : tensor<?x?x?xf32>
}
