// RUN: ragged-opt %s --verify-diagnostics --convert-ragged-to-scf

// The layout of an annotated value has to reach everything connected first.
func.func @annotate(%x: tensor<?x?xf32>) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  // expected-error@below {{'ragged.annotate' op expected no change of layout (run ragged-infer-layouts), got tensor<?x?xf32> to tensor<?x?xf32, #ragged.layout<"dr">>}}
  %0 = ragged.annotate %x : (tensor<?x?xf32>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<?x?xf32, #ragged.layout<"dr">>
}

