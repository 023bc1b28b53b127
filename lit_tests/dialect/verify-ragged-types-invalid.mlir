// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Types: wherever they appear.

// The letters fit the rank, in declarations too.
// expected-error@+1 {{'func.func' op expected 2 letters in layout "dr|d" for a tensor of rank 2, got 3}}
func.func private @f(tensor<3x?xf32, #ragged.layout<"dr|d">>)

// -----

// A ragged dim has no extent.
// expected-error@+1 {{'func.func' op expected extent ? on ragged dim 1 of layout "dr", got 4}}
func.func private @f() -> tensor<3x4xf32, #ragged.layout<"dr">>

// -----

// Text outside the grammar.
// expected-error@+1 {{'func.func' op expected axis "rd" of layout "rd" to start with 'd', got 'r'}}
func.func private @f(tensor<3x?xf32, #ragged.layout<"rd">>)

// -----

// Encodings of other dialects.
// expected-error@+1 {{'func.func' op expected a tensor with a #ragged.layout encoding or none, got "csr"}}
func.func private @f(tensor<3x4xf32, "csr">)

// -----

// Inside another type a layout means nothing.
// expected-error@+1 {{'func.func' op expected a layout on a tensor that is not part of another type, got tuple<tensor<3x?xf32, #ragged.layout<"dr">>>}}
func.func private @f(tuple<tensor<3x?xf32, #ragged.layout<"dr">>>)

// -----

// A buffer has no components.
// expected-error@+1 {{'func.func' op expected a layout on a tensor that is not part of another type, got memref<3x4xf32, #ragged.layout<"dr">>}}
func.func private @f(memref<3x4xf32, #ragged.layout<"dr">>)

// -----

// Facts are of the dialect.
// expected-error@+1 {{'func.func' op expected attributes among [ragged.divisible_by, ragged.max_length, ragged.sharded] on argument 0, got 'ragged.max'}}
func.func private @f(tensor<3x?xf32, #ragged.layout<"dr">> {ragged.max = 3 : i64})

// -----

// Facts are integers.
// expected-error@+1 {{'func.func' op expected an integer for 'ragged.max_length' on argument 0, got "3"}}
func.func private @f(tensor<3x?xf32, #ragged.layout<"dr">> {ragged.max_length = "3"})

// -----

// Every integer is a multiple of 1 at least.
// expected-error@+1 {{'func.func' op expected ragged.divisible_by of at least 1 on argument 1, got 0}}
func.func private @f(index, tensor<3x?xf32, #ragged.layout<"dr">> {ragged.divisible_by = 0 : i64})

// -----

// Facts are about lengths.
// expected-error@+1 {{'func.func' op expected a tensor with a layout for 'ragged.max_length' on argument 0, got tensor<3xf32>}}
func.func private @f(tensor<3xf32> {ragged.max_length = 3 : i64})

// -----

// Nobody reads facts of results.
// expected-error@+1 {{'func.func' op expected ragged attributes on arguments only, got 'ragged.max_length' on result 0}}
func.func private @f() -> (tensor<3x?xf32, #ragged.layout<"dr">> {ragged.max_length = 3 : i64})
