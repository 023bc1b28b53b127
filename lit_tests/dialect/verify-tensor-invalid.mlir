// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Which dim is part of the rule.
func.func @verify_tensor_0(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %i: index) {
  // expected-error@+1 {{'tensor.dim' op expected a constant dim of tensor<3x?xf32, #ragged.layout<"dr">>, got index that is not}}
  %0 = tensor.dim %x, %i : tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// A ragged dim has many extents.
func.func @verify_tensor_1(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{'tensor.dim' op expected a dense dim, got ragged dim 1 of tensor<3x?xf32, #ragged.layout<"dr">> (use ragged.lengths)}}
  %0 = tensor.dim %x, %c1 : tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// So has a tile.
func.func @verify_tensor_2(%x: tensor<3x?x4xf32, #ragged.layout<"drt">>) {
  %c2 = arith.constant 2 : index
  // expected-error@+1 {{'tensor.dim' op expected a dense dim, got tile dim 2 of tensor<3x?x4xf32, #ragged.layout<"drt">> (use ragged.lengths)}}
  %0 = tensor.dim %x, %c2 : tensor<3x?x4xf32, #ragged.layout<"drt">>
  return
}

// -----

// Dims are those of the tensor.
func.func @verify_tensor_3(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  %c2 = arith.constant 2 : index
  // expected-error@+1 {{'tensor.dim' op expected dim in [0, 2), got 2}}
  %0 = tensor.dim %x, %c2 : tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// A cast makes no raggedness.
func.func @verify_tensor_4(%x: tensor<?x?xf32>) {
  // expected-error@+1 {{'tensor.cast' op expected a cast that keeps the layout, got tensor<?x?xf32> to tensor<3x?xf32, #ragged.layout<"dr">> (use ragged.assemble and ragged.values)}}
  %0 = tensor.cast %x : tensor<?x?xf32> to tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Nor does it lose the rank.
func.func @verify_tensor_5(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'tensor.cast' op expected a cast that keeps the layout, got tensor<3x?xf32, #ragged.layout<"dr">> to tensor<*xf32>}}
  %0 = tensor.cast %x : tensor<3x?xf32, #ragged.layout<"dr">> to tensor<*xf32>
  return
}

// -----

// A part of every component is a window.
func.func @verify_tensor_6(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %n: index) {
  // expected-error@+1 {{'tensor.extract_slice' op expected all of dim 1 of tensor<3x?x8xf32, #ragged.layout<"dr|d">> in the slice, got a part (use ragged.slice)}}
  %0 = tensor.extract_slice %x[0, 0, 0] [3, %n, 8] [1, 1, 1] : tensor<3x?x8xf32, #ragged.layout<"dr|d">> to tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return
}

// -----

// So is a part of a batch.
func.func @verify_tensor_7(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) {
  %n = ragged.max_length %x {level = 1} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> index
  // expected-error@+1 {{'tensor.extract_slice' op expected all of dim 0 of tensor<3x?x8xf32, #ragged.layout<"dr|d">> in the slice, got a part (use ragged.slice)}}
  %0 = tensor.extract_slice %x[1, 0, 0] [2, %n, 8] [1, 1, 1] : tensor<3x?x8xf32, #ragged.layout<"dr|d">> to tensor<2x?x8xf32, #ragged.layout<"dr|d">>
  return
}

// -----

// A slice of features keeps the ragged axes.
func.func @verify_tensor_8(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) {
  %n = ragged.max_length %x {level = 1} : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> index
  // expected-error@+1 {{'tensor.extract_slice' op expected a result with the ragged axes of layout "dr|d", got tensor<3x?x4xf32, #ragged.layout<"dw|d">>}}
  %0 = tensor.extract_slice %x[0, 0, 0] [3, %n, 4] [1, 1, 1] : tensor<3x?x8xf32, #ragged.layout<"dr|d">> to tensor<3x?x4xf32, #ragged.layout<"dw|d">>
  return
}

// -----

// Expansion is no partition.
func.func @verify_tensor_9(%x: tensor<?x8xf32>, %n: index) {
  // expected-error@+1 {{'tensor.expand_shape' op expected operand and result with a layout, got tensor<?x8xf32> and tensor<3x?x8xf32, #ragged.layout<"dr|d">>}}
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [3, %n, 8] : tensor<?x8xf32> into tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return
}

// -----

// Nor a split.
func.func @verify_tensor_10(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %n: index) {
  // expected-error@+1 {{'tensor.expand_shape' op expected plain dense dims to expand, got dim 1 of layout "dr" (use ragged.split)}}
  %0 = tensor.expand_shape %x [[0], [1, 2]] output_shape [3, %n, 4] : tensor<3x?xf32, #ragged.layout<"dr">> into tensor<3x?x4xf32, #ragged.layout<"drt">>
  return
}

// -----

// Collapsing is no merge.
func.func @verify_tensor_11(%x: tensor<3x2x?xf32, #ragged.layout<"ddr">>) {
  // expected-error@+1 {{'tensor.collapse_shape' op expected plain dense dims to collapse, got dim 0 of layout "ddr" (use ragged.merge)}}
  %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<3x2x?xf32, #ragged.layout<"ddr">> into tensor<6x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// The other dims keep their letters.
func.func @verify_tensor_12(%x: tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>) {
  // expected-error@+1 {{'tensor.collapse_shape' op expected a result with the ragged axes of layout "dr|d|d", got tensor<3x?x8xf32, #ragged.layout<"dw|d">>}}
  %0 = tensor.collapse_shape %x [[0], [1], [2, 3]] : tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">> into tensor<3x?x8xf32, #ragged.layout<"dw|d">>
  return
}

// -----

// And their extents.
func.func @verify_tensor_13(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %n: index) {
  // expected-error@+1 {{'tensor.expand_shape' op expected ragged.max_length of the operand as the extent of dim 1, got another value}}
  %0 = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [3, %n, 2, 4] : tensor<3x?x8xf32, #ragged.layout<"dr|d">> into tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
  return
}

// -----

// A dense batch dim too.
func.func @verify_tensor_14(%x: tensor<?x?x8xf32, #ragged.layout<"dr|d">>, %n: index) {
  %m = ragged.max_length %x {level = 1} : (tensor<?x?x8xf32, #ragged.layout<"dr|d">>) -> index
  // expected-error@+1 {{'tensor.expand_shape' op expected tensor.dim of the operand as the extent of dim 0, got another value}}
  %0 = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [%n, %m, 2, 4] : tensor<?x?x8xf32, #ragged.layout<"dr|d">> into tensor<?x?x2x4xf32, #ragged.layout<"dr|d|d">>
  return
}

// -----

// The least integer stands for an operand, which is not there.
func.func @pad(%x: tensor<3x?xf32>, %z: f32) -> tensor<3x?xf32> {
  // expected-error@+1 {{'tensor.pad' op expected 1 operands for low, got 0}}
  %0 = tensor.pad %x low[-9223372036854775808, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<3x?xf32> to tensor<3x?xf32>
  return %0 : tensor<3x?xf32>
}
