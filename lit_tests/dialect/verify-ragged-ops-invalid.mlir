// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Ops of other dialects on ragged types.

// Storage of an unknown size.
func.func @f(%n: index) {
  // expected-error@+1 {{'tensor.empty' op expected operands and results without a layout, got tensor<?x3xf32, #ragged.layout<"dt">> (use ragged.empty)}}
  %0 = tensor.empty(%n) : tensor<?x3xf32, #ragged.layout<"dt">>
  return
}

// -----

// A constant has no offsets.
func.func @f() {
  // expected-error@+1 {{'arith.constant' op expected operands and results without a layout, got tensor<2x4xf32, #ragged.layout<"dt">> (use ragged.empty and linalg.fill)}}
  %0 = arith.constant dense<0.0> : tensor<2x4xf32, #ragged.layout<"dt">>
  return
}

// -----

// No single extent.
func.func @f(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) {
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{'tensor.dim' op expected a dense dim, got ragged dim 1 of tensor<3x?x8xf32, #ragged.layout<"dr|d">> (use ragged.lengths)}}
  %0 = tensor.dim %x, %c1 : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return
}

// -----

// The dim decides what is read.
func.func @f(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %i: index) {
  // expected-error@+1 {{'tensor.dim' op expected a constant dim of tensor<3x?x8xf32, #ragged.layout<"dr|d">>, got index that is not}}
  %0 = tensor.dim %x, %i : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return
}

// -----

// Out of range.
func.func @f(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) {
  %c3 = arith.constant 3 : index
  // expected-error@+1 {{'tensor.dim' op expected dim in [0, 3), got 3}}
  %0 = tensor.dim %x, %c3 : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return
}

// -----

// A cast keeps the layout.
func.func @f(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) {
  // expected-error@+1 {{'tensor.cast' op expected a cast that keeps the layout, got tensor<3x?x8xf32, #ragged.layout<"dr|d">> to tensor<3x?x8xf32> (use ragged.assemble and ragged.values)}}
  %0 = tensor.cast %x : tensor<3x?x8xf32, #ragged.layout<"dr|d">> to tensor<3x?x8xf32>
  return
}

// -----

// Part of a ragged dim.
func.func @f(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %n: index) {
  // expected-error@+1 {{'tensor.extract_slice' op expected all of dim 1 of tensor<3x?x8xf32, #ragged.layout<"dr|d">> in the slice, got a part (use ragged.slice)}}
  %0 = tensor.extract_slice %x[0, 0, 0] [3, %n, 8] [1, 1, 1] : tensor<3x?x8xf32, #ragged.layout<"dr|d">> to tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return
}

// -----

// Part of a batch.
func.func @f(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) {
  %n = ragged.max_length %x {level = 1} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> index
  // expected-error@+1 {{'tensor.extract_slice' op expected all of dim 0 of tensor<3x?x8xf32, #ragged.layout<"dr|d">> in the slice, got a part (use ragged.slice)}}
  %0 = tensor.extract_slice %x[1, 0, 0] [2, %n, 8] [1, 1, 1] : tensor<3x?x8xf32, #ragged.layout<"dr|d">> to tensor<2x?x8xf32, #ragged.layout<"dr|d">>
  return
}

// -----

// Ragged dims merge by ragged.merge.
func.func @f(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) {
  // expected-error@+1 {{'tensor.collapse_shape' op expected plain dense dims to collapse, got dim 1 of layout "dr|d" (use ragged.merge)}}
  %0 = tensor.collapse_shape %x [[0], [1, 2]] : tensor<3x?x8xf32, #ragged.layout<"dr|d">> into tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Ragged dims split by ragged.split.
func.func @f(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %n: index) {
  // expected-error@+1 {{'tensor.expand_shape' op expected plain dense dims to expand, got dim 1 of layout "dr" (use ragged.split)}}
  %0 = tensor.expand_shape %x [[0], [1, 2]] output_shape [3, %n, 8] : tensor<3x?xf32, #ragged.layout<"dr">> into tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return
}

// -----

// The extent of a ragged dim is its longest length.
func.func @f(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %n: index) {
  // expected-error@+1 {{'tensor.expand_shape' op expected ragged.max_length of the operand as the extent of dim 1, got another value}}
  %0 = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [3, %n, 4, 2] : tensor<3x?x8xf32, #ragged.layout<"dr|d">> into tensor<3x?x4x2xf32, #ragged.layout<"dr|d|d">>
  return
}

// -----

// Components differ in size.
func.func @f(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %p: f32) {
  // expected-error@+1 {{'tensor.pad' op expected operands and results without a layout, got tensor<3x?xf32, #ragged.layout<"dr">> (use ragged.to_padded)}}
  %0 = tensor.pad %x low[0, 0] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %p : f32
  } : tensor<3x?xf32, #ragged.layout<"dr">> to tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Memory comes later.
func.func @f(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'bufferization.alloc_tensor' op expected operands and results without a layout, got tensor<3x?xf32, #ragged.layout<"dr">> (use convert-ragged-to-scf first)}}
  %0 = bufferization.alloc_tensor() copy(%x) : tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Elementwise ops keep the layout.
func.func @f(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %i: tensor<3x?xi32>) {
  // expected-error@+1 {{'math.fpowi' op expected operands and result of one layout, got tensor<3x?xi32> and tensor<3x?xf32, #ragged.layout<"dr">>}}
  %0 = math.fpowi %x, %i : tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xi32>
  return
}

// -----

// The result of a ragged loop is ragged.
func.func @f(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %o: tensor<3x?xf32>) {
  // expected-error@+1 {{'linalg.exp' op expected a result with a ragged level on loop 1 (dim 1 of operand 0 is ragged), got dense dim 1}}
  %0 = linalg.exp ins(%x : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%o : tensor<3x?xf32>) -> tensor<3x?xf32>
  return
}

// -----

// Branches carry dense values only.
func.func @f(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'cf.br' op expected operands and results without a layout, got tensor<3x?xf32, #ragged.layout<"dr">> (use scf.if, scf.for or scf.while)}}
  cf.br ^a(%x : tensor<3x?xf32, #ragged.layout<"dr">>)
^a(%y: tensor<3x?xf32, #ragged.layout<"dr">>):
  return
}
