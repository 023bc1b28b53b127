// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Rows need an outer dim.
func.func @partition_0(%x: tensor<?xf32>, %y: tensor<2x4xi64>) {
  // expected-error@+1 {{'ragged.partition' op expected offsets of rank 1 for dense dim 0, got rank 2}}
  %0 = ragged.partition %x, %y {dim = 0} : (tensor<?xf32>, tensor<2x4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// A batch dim below another one has rows.
func.func @partition_1(%x: tensor<3x5x?xf32, #ragged.layout<"ddr">>, %y: tensor<4xi64>) {
  // expected-error@+1 {{'ragged.partition' op expected offsets of rank 2 for batch dim 1, got rank 1}}
  %0 = ragged.partition %x, %y {dim = 1}
      : (tensor<3x5x?xf32, #ragged.layout<"ddr">>, tensor<4xi64>) -> tensor<3x3x?x?xf32, #ragged.layout<"ddrr">>
  return
}

// -----

// So has a ragged dim.
func.func @partition_2(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<4xi64>) {
  // expected-error@+1 {{'ragged.partition' op expected offsets of rank 2 for ragged dim 1, got rank 1}}
  %0 = ragged.partition %x, %y {dim = 1}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<4xi64>) -> tensor<3x3x?xf32, #ragged.layout<"ddr">>
  return
}

// -----

// No more than rows.
func.func @partition_3(%x: tensor<?xf32>, %y: tensor<2x2x4xi64>) {
  // expected-error@+1 {{'ragged.partition' op expected offsets of rank 1 or 2, got rank 3}}
  %0 = ragged.partition %x, %y {dim = 0} : (tensor<?xf32>, tensor<2x2x4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// One row per component.
func.func @partition_4(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<2x3xi64>) {
  // expected-error@+1 {{'ragged.partition' op expected 3 rows of offsets, got 2}}
  %0 = ragged.partition %x, %y {dim = 1}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<2x3xi64>) -> tensor<3x2x?xf32, #ragged.layout<"ddr">>
  return
}

// -----

// Of a plain dim too.
func.func @partition_5(%x: tensor<2x100xf32>, %y: tensor<3x5xi64>) {
  // expected-error@+1 {{'ragged.partition' op expected 2 rows of offsets, got 3}}
  %0 = ragged.partition %x, %y {dim = 1}
      : (tensor<2x100xf32>, tensor<3x5xi64>) -> tensor<2x4x?xf32, #ragged.layout<"ddr">>
  return
}

// -----

// Split dims are merged first.
func.func @partition_6(%x: tensor<3x?x4xf32, #ragged.layout<"drt">>, %y: tensor<3x3xi64>) {
  // expected-error@+1 {{'ragged.partition' op expected dim 1 of layout "drt" without tiles, got a split dim (merge it first)}}
  %0 = ragged.partition %x, %y {dim = 1}
      : (tensor<3x?x4xf32, #ragged.layout<"drt">>, tensor<3x3xi64>) -> tensor<3x2x?x4xf32, #ragged.layout<"ddrt">>
  return
}

// -----

// The dim is one of the operand's.
func.func @partition_7(%x: tensor<?xf32>, %y: tensor<4xi64>) {
  // expected-error@+1 {{'ragged.partition' op expected dim in [0, 1), got 1}}
  %0 = ragged.partition %x, %y {dim = 1} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// n components have n + 1 offsets, so there is one at least.
func.func @partition_8(%x: tensor<?xf32>, %y: tensor<0xi64>) {
  // expected-error@+1 {{'ragged.partition' op expected at least 1 offset, got 0}}
  %0 = ragged.partition %x, %y {dim = 0} : (tensor<?xf32>, tensor<0xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Offsets are integers.
func.func @partition_9(%x: tensor<?xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'ragged.partition' op expected offsets of i32, i64 or index, got f32}}
  %0 = ragged.partition %x, %y {dim = 0} : (tensor<?xf32>, tensor<4xf32>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Offsets are dense.
func.func @partition_10(%x: tensor<?xf32>, %y: tensor<3x?xi64, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.partition' op expected offsets without a layout, got tensor<3x?xi64, #ragged.layout<"dr">>}}
  %0 = ragged.partition %x, %y {dim = 0}
      : (tensor<?xf32>, tensor<3x?xi64, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// The same for lengths.
func.func @partition_11(%x: tensor<?xf32>, %y: tensor<3xf64>) {
  // expected-error@+1 {{'ragged.partition' op expected lengths of i32, i64 or index, got f64}}
  %0 = ragged.partition %x, %y {dim = 0, lengths}
      : (tensor<?xf32>, tensor<3xf64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// 4 offsets are 3 components.
func.func @partition_12(%x: tensor<?xf32>, %y: tensor<4xi64>) {
  // expected-error@+1 {{'ragged.partition' op expected result type tensor<3x?xf32, #ragged.layout<"dr">>, got tensor<4x?xf32, #ragged.layout<"dr">>}}
  %0 = ragged.partition %x, %y {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<4x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// The element type stays.
func.func @partition_13(%x: tensor<?xf32>, %y: tensor<4xi64>) {
  // expected-error@+1 {{'ragged.partition' op expected result type tensor<3x?xf32, #ragged.layout<"dr">>, got tensor<3x?xf64, #ragged.layout<"dr">>}}
  %0 = ragged.partition %x, %y {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf64, #ragged.layout<"dr">>
  return
}

// -----

// A misspelt optional attribute would pass unseen.
func.func @partition_14(%x: tensor<?xf32>, %y: tensor<3xi64>) {
  // expected-error@+1 {{'ragged.partition' op expected attributes among [dim, lengths], got 'length'}}
  %0 = ragged.partition %x, %y {dim = 0, length}
      : (tensor<?xf32>, tensor<3xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// A flag has no value.
func.func @partition_15(%x: tensor<?xf32>, %y: tensor<3xi64>) {
  // expected-error@+1 {{'ragged.partition' op expected 'lengths' without a value, got true}}
  %0 = ragged.partition %x, %y {dim = 0, lengths = true}
      : (tensor<?xf32>, tensor<3xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// The dim is a number.
func.func @partition_16(%x: tensor<?xf32>, %y: tensor<4xi64>) {
  // expected-error@+1 {{'ragged.partition' op expected an integer for 'dim', got "0"}}
  %0 = ragged.partition %x, %y {dim = "0"} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

func.func @unsigned(%x: tensor<?xf32>, %o: tensor<4xui64>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  // expected-error@+1 {{of i32, i64 or index, got ui64}}
  %0 = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xui64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<3x?xf32, #ragged.layout<"dr">>
}
