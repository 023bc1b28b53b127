// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// A range per component has no place below a window: some stored components are not reached.
func.func @slice(%x: tensor<?x?x?xf32, #ragged.layout<"dwr">>, %lo: tensor<?xi64>, %hi: index) {
  // expected-error@below {{'ragged.slice' op expected lo per component without a window above dim 2, got layout "dwr" (use ragged.compact)}}
  %0 = ragged.slice %x, %lo, %hi {dim = 2}
       : (tensor<?x?x?xf32, #ragged.layout<"dwr">>, tensor<?xi64>, index) -> tensor<?x?x?xf32, #ragged.layout<"dww">>
  return
}

// -----

func.func @partition(%x: tensor<?x?x?xf32, #ragged.layout<"dwr">>, %rows: tensor<?x?xi64>) {
  // expected-error@below {{'ragged.partition' op expected offsets per component without a window above dim 2, got layout "dwr" (use ragged.compact)}}
  %0 = ragged.partition %x, %rows {dim = 2}
       : (tensor<?x?x?xf32, #ragged.layout<"dwr">>, tensor<?x?xi64>) -> tensor<?x?x?x?xf32, #ragged.layout<"dwdr">>
  return
}
