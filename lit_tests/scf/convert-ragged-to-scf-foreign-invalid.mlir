// RUN: ragged-opt %s --verify-diagnostics --no-verify-each --one-shot-bufferize --convert-ragged-to-scf

// Bufferization takes ragged tensors for dense ones. Verification after each pass says so earlier.
// expected-error@below {{expected an op with a lowering for ragged tensors, got 'bufferization.to_buffer'}}
func.func @f(%x: tensor<?x?xf32, #ragged.layout<"dr">>, %i: index) -> f32 {
  %0 = tensor.extract %x[%i, %i] : tensor<?x?xf32, #ragged.layout<"dr">>
  return %0 : f32
}
