// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// There may be gaps between windows.
func.func @merge_0(%x: tensor<3x?xf32, #ragged.layout<"dw">>) {
  // expected-error@+1 {{'ragged.merge' op expected contiguous components to merge, got window dim 1 of layout "dw" (use ragged.compact)}}
  %0 = ragged.merge %x {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<?xf32>
  return
}

// -----

// Two ragged dims over two storage axes.
func.func @merge_1(%x: tensor<3x?x2x?xf32, #ragged.layout<"dr|dr">>) {
  // expected-error@+1 {{'ragged.merge' op expected dims that merge, got 'r' and 'd' of different axes at dims 1 and 2 of layout "dr|dr"}}
  %0 = ragged.merge %x {dim = 1}
      : (tensor<3x?x2x?xf32, #ragged.layout<"dr|dr">>) -> tensor<3x?x?xf32, #ragged.layout<"drr">>
  return
}

// -----

// The last dim has none after it.
func.func @merge_2(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.merge' op expected dim in [0, 1), got 1}}
  %0 = ragged.merge %x {dim = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// The total is not static.
func.func @merge_3(%x: tensor<3x?x?xf32, #ragged.layout<"drr">>) {
  // expected-error@+1 {{'ragged.merge' op expected result type tensor<?x?xf32, #ragged.layout<"dr">>, got tensor<?xf32>}}
  %0 = ragged.merge %x {dim = 0} : (tensor<3x?x?xf32, #ragged.layout<"drr">>) -> tensor<?xf32>
  return
}

// -----

// So are merged dims.
func.func @merge_4(%x: tensor<4611686018427387904x4xf32>) {
  // expected-error@+1 {{'ragged.merge' op expected an extent below 2**63 on dim 0, got 18446744073709551616}}
  %0 = ragged.merge %x {dim = 0} : (tensor<4611686018427387904x4xf32>) -> tensor<?xf32>
  return
}

// -----

// Static extents must fit.
func.func @merge_5(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{'ragged.merge' op expected result type tensor<12xf32>, got tensor<13xf32>}}
  %0 = ragged.merge %x {dim = 0} : (tensor<3x4xf32>) -> tensor<13xf32>
  return
}
