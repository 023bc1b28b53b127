// RUN: ragged-opt %s --split-input-file --verify-diagnostics --cse --canonicalize --convert-ragged-to-scf

// The layout of an annotated value has to reach everything connected first.
func.func @annotate(%x: tensor<?x?xf32>) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  // expected-error@below {{'ragged.annotate' op expected no change of layout (run ragged-infer-layouts), got tensor<?x?xf32> to tensor<?x?xf32, #ragged.layout<"dr">>}}
  %0 = ragged.annotate %x : (tensor<?x?xf32>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<?x?xf32, #ragged.layout<"dr">>
}

// -----

// So has that of one whose result nothing uses, which no pass erases as dead.
func.func @unused(%x: tensor<3x?xf32>) -> tensor<3x?xf32> {
  // expected-error@below {{'ragged.annotate' op expected no change of layout (run ragged-infer-layouts), got tensor<3x?xf32> to tensor<3x?xf32, #ragged.layout<"dr">>}}
  %0 = ragged.annotate %x : (tensor<3x?xf32>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %1 = math.exp %x : tensor<3x?xf32>
  return %1 : tensor<3x?xf32>
}

// -----

// What is sent has a size.
func.func @exchange(%x: tensor<4x?xf80, #ragged.layout<"dr">>) -> tensor<4x?xf80, #ragged.layout<"dr">> {
  // expected-error@below {{'ragged.all_to_all' op expected elements of a known number of bytes, got f80}}
  %0 = ragged.all_to_all %x : (tensor<4x?xf80, #ragged.layout<"dr">>) -> tensor<4x?xf80, #ragged.layout<"dr">>
  return %0 : tensor<4x?xf80, #ragged.layout<"dr">>
}

// -----

// A softmax is one of floats that there is arithmetic for.
func.func @softmax(%x: tensor<?x?xf80, #ragged.layout<"dr">>) -> tensor<?x?xf80, #ragged.layout<"dr">> {
  // expected-error@below {{'linalg.softmax' op expected elements of floats of 16 to 64 bits, got f80}}
  %0 = linalg.softmax dimension(1) ins(%x : tensor<?x?xf80, #ragged.layout<"dr">>) outs(%x : tensor<?x?xf80, #ragged.layout<"dr">>) -> tensor<?x?xf80, #ragged.layout<"dr">>
  return %0 : tensor<?x?xf80, #ragged.layout<"dr">>
}

// -----

// Integers have no exponential.
func.func @integers(%x: tensor<?x?xi32, #ragged.layout<"dr">>) -> tensor<?x?xi32, #ragged.layout<"dr">> {
  // expected-error@below {{'linalg.softmax' op expected elements of floats of 16 to 64 bits, got i32}}
  %0 = linalg.softmax dimension(1) ins(%x : tensor<?x?xi32, #ragged.layout<"dr">>) outs(%x : tensor<?x?xi32, #ragged.layout<"dr">>) -> tensor<?x?xi32, #ragged.layout<"dr">>
  return %0 : tensor<?x?xi32, #ragged.layout<"dr">>
}
