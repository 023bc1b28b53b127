// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Windows are made contiguous first.
func.func @windows(%x: tensor<?x?xf32, #ragged.layout<"dw">>) {
  // expected-error@+1 {{'ragged.all_to_all' op expected a leading dim of ranks, and other axes dense, as in "d|d" or "drr|d", got layout "dw"}}
  %0 = ragged.all_to_all %x : (tensor<?x?xf32, #ragged.layout<"dw">>) -> tensor<?x?xf32, #ragged.layout<"dw">>
  return
}

// -----

// What all ranks share is not exchanged.
func.func @axes(%x: tensor<?x?x?xf32, #ragged.layout<"d|dr">>) {
  // expected-error@+1 {{expected a leading dim of ranks, and other axes dense, as in "d|d" or "drr|d", got layout "d|dr"}}
  %0 = ragged.all_to_all %x : (tensor<?x?x?xf32, #ragged.layout<"d|dr">>) -> tensor<?x?x?xf32, #ragged.layout<"d|dr">>
  return
}

// -----

func.func @number(%x: tensor<f32>) {
  // expected-error@+1 {{expected a leading dim of ranks, and other axes dense, as in "d|d" or "drr|d", got layout ""}}
  %0 = ragged.all_to_all %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @result(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{'ragged.all_to_all' op expected result type tensor<?x8xf32>, got tensor<?x4xf32>}}
  %0 = ragged.all_to_all %x : (tensor<?x8xf32>) -> tensor<?x4xf32>
  return
}
