// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Facts hold for arguments.
// expected-error@+1 {{'func.func' op expected ragged attributes on arguments only, got 'ragged.max_length' on result 0}}
func.func private @f0(tensor<3x?xf32, #ragged.layout<"dr">>) -> (tensor<3x?xf32, #ragged.layout<"dr">> {ragged.max_length = 8})

// -----

// Facts are known.
// expected-error@+1 {{'func.func' op expected attributes among [ragged.divisible_by, ragged.max_length, ragged.sharded] on argument 0, got 'ragged.min'}}
func.func private @f1(tensor<3x?xf32, #ragged.layout<"dr">> {ragged.min = 8})

// -----

// They are numbers.
// expected-error@+1 {{'func.func' op expected an integer for 'ragged.max_length' on argument 0, got "8"}}
func.func private @f2(tensor<3x?xf32, #ragged.layout<"dr">> {ragged.max_length = "8"})

// -----

// That lengths can have.
// expected-error@+1 {{'func.func' op expected ragged.divisible_by of at least 1 on argument 1, got 0}}
func.func private @f3(tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">> {ragged.divisible_by = 0})

// -----

// Of a ragged argument.
// expected-error@+1 {{'func.func' op expected a tensor with a layout for 'ragged.max_length' on argument 0, got index}}
func.func private @f4(index {ragged.max_length = 8})
