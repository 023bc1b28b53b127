// RUN: ragged-opt %s --split-input-file --verify-diagnostics

func.func @kind(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{expected kind among sum, prod, max, min, got 'mean'}}
  %0 = ragged.scan %x {dim = 1, kind = "mean"} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// The components differ in length.
func.func @outer(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{expected an innermost level, got dim 0 of layout "dr"}}
  %0 = ragged.scan %x {dim = 0, kind = "sum"} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

func.func @dim(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{expected dim in [0, 2), got 2}}
  %0 = ragged.scan %x {dim = 2, kind = "sum"} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

func.func @windows(%x: tensor<3x?xf32, #ragged.layout<"dw">>) {
  // expected-error@+1 {{expected result type tensor<3x?xf32, #ragged.layout<"dr">>, got}}
  %0 = ragged.scan %x {dim = 1, kind = "sum"} : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #ragged.layout<"dw">>
  return
}

// -----

func.func @elements(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{got}}
  %0 = ragged.scan %x {dim = 1, kind = "sum"} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf64, #ragged.layout<"dr">>
  return
}

// -----

// A NUL does not end the text of an error.
func.func @nul(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.scan' op expected kind among sum, prod, max, min, got 'su\00m'}}
  %0 = ragged.scan %x {dim = 1, kind = "su\00m"} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Types without arithmetic of their own.
func.func @of_f8E(%x: tensor<3x?xf8E4M3FN, #ragged.layout<"dr">>) {
  // expected-error@+1 {{expected elements of floats of 16 to 64 bits, signless integers or index, got f8E4M3FN}}
  %0 = ragged.scan %x {dim = 1, kind = "sum"} : (tensor<3x?xf8E4M3FN, #ragged.layout<"dr">>) -> tensor<3x?xf8E4M3FN, #ragged.layout<"dr">>
  return
}

// -----

// Types without arithmetic of their own.
func.func @of_f80(%x: tensor<3x?xf80, #ragged.layout<"dr">>) {
  // expected-error@+1 {{expected elements of floats of 16 to 64 bits, signless integers or index, got f80}}
  %0 = ragged.scan %x {dim = 1, kind = "sum"} : (tensor<3x?xf80, #ragged.layout<"dr">>) -> tensor<3x?xf80, #ragged.layout<"dr">>
  return
}

// -----

// Types without arithmetic of their own.
func.func @of_si8(%x: tensor<3x?xsi8, #ragged.layout<"dr">>) {
  // expected-error@+1 {{expected elements of floats of 16 to 64 bits, signless integers or index, got si8}}
  %0 = ragged.scan %x {dim = 1, kind = "sum"} : (tensor<3x?xsi8, #ragged.layout<"dr">>) -> tensor<3x?xsi8, #ragged.layout<"dr">>
  return
}

// -----

// Types without arithmetic of their own.
func.func @of_com(%x: tensor<3x?xcomplex<f32>, #ragged.layout<"dr">>) {
  // expected-error@+1 {{expected elements of floats of 16 to 64 bits, signless integers or index, got complex<f32>}}
  %0 = ragged.scan %x {dim = 1, kind = "sum"} : (tensor<3x?xcomplex<f32>, #ragged.layout<"dr">>) -> tensor<3x?xcomplex<f32>, #ragged.layout<"dr">>
  return
}

// -----

// Types without arithmetic of their own.
func.func @of_i0(%x: tensor<3x?xi0, #ragged.layout<"dr">>) {
  // expected-error@+1 {{expected elements of floats of 16 to 64 bits, signless integers or index, got i0}}
  %0 = ragged.scan %x {dim = 1, kind = "sum"} : (tensor<3x?xi0, #ragged.layout<"dr">>) -> tensor<3x?xi0, #ragged.layout<"dr">>
  return
}

// -----

func.func @a_value(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.scan' op expected 'exclusive' without a value, got 1 : i64}}
  %0 = ragged.scan %x {dim = 1, kind = "sum", exclusive = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}
