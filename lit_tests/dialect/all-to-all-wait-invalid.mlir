// RUN: ragged-opt %s --split-input-file --verify-diagnostics

func.func @result(%x: tensor<?x8xf32>) {
  %turn = ragged.all_to_all_start %x : (tensor<?x8xf32>) -> index
  // expected-error@+1 {{'ragged.all_to_all_wait' op expected result type tensor<?x8xf32>, got tensor<?x4xf32>}}
  %0 = ragged.all_to_all_wait %x, %turn : (tensor<?x8xf32>, index) -> tensor<?x4xf32>
  return
}

// -----

func.func @windows(%x: tensor<?x?xf32, #ragged.layout<"dw">>, %turn: index) {
  // expected-error@+1 {{'ragged.all_to_all_wait' op expected a leading dim of ranks, and other axes dense, as in "d|d" or "drr|d", got layout "dw"}}
  %0 = ragged.all_to_all_wait %x, %turn : (tensor<?x?xf32, #ragged.layout<"dw">>, index) -> tensor<?x?xf32, #ragged.layout<"dw">>
  return
}
