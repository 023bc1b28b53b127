// RUN: ragged-opt %s --split-input-file --verify-diagnostics

func.func @windows(%x: tensor<?x?xf32, #ragged.layout<"dw">>) {
  // expected-error@+1 {{'ragged.all_to_all_start' op expected a leading dim of ranks, and other axes dense, as in "d|d" or "drr|d", got layout "dw"}}
  %0 = ragged.all_to_all_start %x : (tensor<?x?xf32, #ragged.layout<"dw">>) -> index
  return
}
