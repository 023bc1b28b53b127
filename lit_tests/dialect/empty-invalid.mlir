// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Structure comes from a tensor.
func.func @empty_0(%x: index) {
  // expected-error@+1 {{'ragged.empty' op expected at least 1 tensor to take the structure from, got 0}}
  %0 = ragged.empty %x : (index) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Extents come last.
func.func @empty_1(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: index, %z: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.empty' op expected tensors before extents, got a tensor after an extent}}
  %0 = ragged.empty %x, %y, %z {from = [[0, 0], [0, 1]]}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, index, tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Extents are integers.
func.func @empty_2(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %y: f32) {
  // expected-error@+1 {{'ragged.empty' op expected an extent of type i32, i64 or index, got f32}}
  %0 = ragged.empty %x, %y
      : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, f32) -> tensor<3x?x?xf32, #ragged.layout<"dr|d">>
  return
}

// -----

// Without sources there is one tensor.
func.func @empty_3(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.empty' op expected 1 tensor without 'from', got 2}}
  %0 = ragged.empty %x, %y
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// And its rank.
func.func @empty_4(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.empty' op expected a result of rank 2, got 3}}
  %0 = ragged.empty %x : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return
}

// -----

// One entry per dim.
func.func @empty_5(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.empty' op expected 3 entries in 'from', got 2}}
  %0 = ragged.empty %x {from = [[0, 0], [0, 1]]}
      : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return
}

// -----

// Sources are an array.
func.func @empty_6(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.empty' op expected an array of [like, level] pairs and -1 for 'from', got 0 : i64}}
  %0 = ragged.empty %x {from = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Of pairs and -1.
func.func @empty_7(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.empty' op expected [like, level] or -1 in 'from', got 2 : i64}}
  %0 = ragged.empty %x {from = [[0, 0], 2]}
      : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Likes are numbered.
func.func @empty_8(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.empty' op expected a like in [0, 1) in 'from', got 1}}
  %0 = ragged.empty %x {from = [[0, 0], [1, 1]]}
      : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// So are their levels.
func.func @empty_9(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.empty' op expected a level in [0, 2) of like 0 in 'from', got 2}}
  %0 = ragged.empty %x {from = [[0, 0], [0, 2]]}
      : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// Levels of an axis have sources.
func.func @empty_10(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.empty' op expected [like, level] for dim 1 of layout "dr" in 'from', got -1}}
  %0 = ragged.empty %x {from = [[0, 0], -1]}
      : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// A level keeps its kind.
func.func @empty_11(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.empty' op expected a level of kind 'r' for dim 1, got 'd' (level 0 of like 0)}}
  %0 = ragged.empty %x {from = [[0, 0], [0, 0]]}
      : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// A dense dim has no ragged level.
func.func @empty_12(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.empty' op expected a level of kind 'd' for dim 2, got 'r' (level 1 of like 0)}}
  %0 = ragged.empty %x {from = [[0, 0], [0, 1], [0, 1]]}
      : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?x?xf32, #ragged.layout<"dr|d">>
  return
}

// -----

// A level follows those above it.
func.func @empty_13(%x: tensor<3x?x?xf32, #ragged.layout<"drr">>) {
  // expected-error@+1 {{'ragged.empty' op expected level 1 of like 0 before level 2 in 'from', got none}}
  %0 = ragged.empty %x {from = [[0, 0], [0, 2]]}
      : (tensor<3x?x?xf32, #ragged.layout<"drr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// A tile follows the level it splits.
func.func @empty_14(%x: tensor<3x?x16xf32, #ragged.layout<"drt">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.empty' op expected the tile of dim 3 after level 1 of like 0, got it elsewhere}}
  %0 = ragged.empty %x, %y {from = [[0, 0], [0, 1], [1, 1], [0, 2]]}
      : (tensor<3x?x16xf32, #ragged.layout<"drt">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?x?x16xf32, #ragged.layout<"drrt">>
  return
}

// -----

// Batch extents are those of the sources.
func.func @empty_15(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.empty' op expected result type tensor<3x?xf32, #ragged.layout<"dr">>, got tensor<4x?xf32, #ragged.layout<"dr">>}}
  %0 = ragged.empty %x : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<4x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// One extent per dynamic dense dim.
func.func @empty_16(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>) {
  // expected-error@+1 {{'ragged.empty' op expected 1 extents for the dynamic dense dims, got 0}}
  %0 = ragged.empty %x : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x?xf32, #ragged.layout<"dr|d">>
  return
}

// -----

// The lengths of dim 2 depend on dim 1 in the second like, and on dim 0 in the first, which has dim 3 below it.
func.func @empty_17(%x: tensor<?x?x?x1xi32, #ragged.layout<"drr|d">>, %y: tensor<?x?x?x1xi32, #ragged.layout<"drr|d">>) {
  // expected-error@+1 {{'ragged.empty' op expected dim 2, which is level 1 of like 1, below dims [0] as level 1 of like 0 is, got it below [1]}}
  %0 = ragged.empty %x, %y {from = [[0, 0], [1, 0], [1, 1], [0, 2]]}
      : (tensor<?x?x?x1xi32, #ragged.layout<"drr|d">>, tensor<?x?x?x1xi32, #ragged.layout<"drr|d">>)
      -> tensor<?x?x?x?xi32, #ragged.layout<"ddrr">>
  return
}
