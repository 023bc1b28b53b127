// RUN: ragged-opt %s --split-input-file --verify-diagnostics

func.func @integers(%mask: tensor<?xi8>, %x: tensor<?xf32>) {
  // expected-error@+1 {{'ragged.compress' op expected a mask tensor<?xi1>, got tensor<?xi8>}}
  %0 = ragged.compress %mask, %x : (tensor<?xi8>, tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @ragged_mask(%mask: tensor<?x?xi1, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.compress' op expected a mask tensor<?xi1>, got tensor<?x?xi1, #ragged.layout<"dr">>}}
  %0 = ragged.compress %mask : (tensor<?x?xi1, #ragged.layout<"dr">>) -> tensor<?xi64>
  return
}

// -----

func.func @ragged_rows(%mask: tensor<?xi1>, %x: tensor<?x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.compress' op expected dense rows, got tensor<?x?xf32, #ragged.layout<"dr">>}}
  %0 = ragged.compress %mask, %x : (tensor<?xi1>, tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
  return
}

// -----

func.func @sizes(%mask: tensor<3xi1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{'ragged.compress' op expected rows of size 3, got 4}}
  %0 = ragged.compress %mask, %x : (tensor<3xi1>, tensor<4xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @result(%mask: tensor<?xi1>, %x: tensor<?x8xf32>) {
  // expected-error@+1 {{'ragged.compress' op expected result type tensor<?x8xf32>, got tensor<?xf32>}}
  %0 = ragged.compress %mask, %x : (tensor<?xi1>, tensor<?x8xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @numbers(%mask: tensor<?xi1>) {
  // expected-error@+1 {{'ragged.compress' op expected result type tensor<?xi64>, got tensor<?xi32>}}
  %0 = ragged.compress %mask : (tensor<?xi1>) -> tensor<?xi32>
  return
}

// -----

func.func @complex(%mask: tensor<?xi1>, %x: tensor<?xcomplex<f32>>) {
  // expected-error@+1 {{'ragged.compress' op expected rows of floats of 16 to 64 bits, signless integers or index, got complex<f32>}}
  %0 = ragged.compress %mask, %x : (tensor<?xi1>, tensor<?xcomplex<f32>>) -> tensor<?xcomplex<f32>>
  return
}

// -----

func.func @many(%mask: tensor<?xi1>, %x: tensor<?xf32>) {
  // expected-error@+1 {{'ragged.compress' op expected a mask and perhaps rows, got 3 operands}}
  %0 = ragged.compress %mask, %x, %x : (tensor<?xi1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}
