// RUN: ragged-opt %s --ragged-decompose-scatters | FileCheck %s
// RUN: ragged-opt %s --ragged-decompose-scatters="features=8" | FileCheck %s --check-prefix=ROWS
// RUN: ragged-opt %s --ragged-decompose-scatters="across=true" | FileCheck %s --check-prefix=ACROSS
// RUN: ragged-opt %s --ragged-decompose-scatters="features=8 computed=true" | FileCheck %s --check-prefix=COMPUTED

// The terms of each position, in their order, and their sum.

// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[TERMS:.*]]: tensor<?x8xf32>, %[[POSITIONS:.*]]: tensor<?xi64>, %[[COUNT:.*]]: index)
// CHECK: %[[PLACES:.*]] = ragged.group_by %[[POSITIONS]], %[[COUNT]]
// CHECK: %[[TAKEN:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[PLACES]]
// CHECK: ^bb0(%[[PLACE:.*]]: i64, %{{.*}}: f32):
// CHECK: %[[ROW:.*]] = arith.index_cast %[[PLACE]]
// CHECK: tensor.extract %[[TERMS]][%[[ROW]], %{{.*}}]
// CHECK: %[[ZEROS:.*]] = linalg.fill
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[TAKEN]] {{.*}} outs(%[[ZEROS]]
// CHECK: arith.addf
// CHECK-NOT: ragged.scatter_add
// ROWS-LABEL: func.func @rows
// ROWS-NOT: ragged.scatter_add
// COMPUTED-LABEL: func.func @rows
// COMPUTED: ragged.scatter_add
func.func @rows(%terms: tensor<?x8xf32>, %positions: tensor<?xi64>, %count: index) -> tensor<?x8xf32> {
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?x8xf32>, tensor<?xi64>, index) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// Terms that a loop makes, unless it needs an index, or others read them too.

// COMPUTED-LABEL: func.func @products
// COMPUTED: ragged.group_by
// COMPUTED-NOT: ragged.scatter_add
func.func @products(%x: tensor<?x8xf32>, %positions: tensor<?xi64>, %count: index) -> tensor<?x8xf32> {
  %terms = arith.mulf %x, %x : tensor<?x8xf32>
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?x8xf32>, tensor<?xi64>, index) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// Those of unique positions are no sums.

// COMPUTED-LABEL: func.func @unique
// COMPUTED: ragged.scatter_add
// ROWS-LABEL: func.func @unique
// CHECK-LABEL: func.func @unique
// CHECK: ragged.scatter_add
func.func @unique(%x: tensor<?x8xf32>, %positions: tensor<?xi64>, %count: index) -> tensor<?x8xf32> {
  %terms = arith.mulf %x, %x : tensor<?x8xf32>
  %0 = ragged.scatter_add %terms, %positions, %count {unique} : (tensor<?x8xf32>, tensor<?xi64>, index) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// COMPUTED-LABEL: func.func @numbered
// COMPUTED: ragged.scatter_add
func.func @numbered(%out: tensor<?x8xi64>, %positions: tensor<?xi64>, %count: index) -> tensor<?x8xi64> {
  %numbers = linalg.generic {indexing_maps = [affine_map<(i, f) -> (i, f)>], iterator_types = ["parallel", "parallel"]}
      outs(%out : tensor<?x8xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    linalg.yield %n : i64
  } -> tensor<?x8xi64>
  %terms = arith.muli %numbers, %numbers : tensor<?x8xi64>
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?x8xi64>, tensor<?xi64>, index) -> tensor<?x8xi64>
  return %0 : tensor<?x8xi64>
}

// COMPUTED-LABEL: func.func @read_by_others
// COMPUTED: ragged.scatter_add
func.func @read_by_others(%x: tensor<?x8xf32>, %positions: tensor<?xi64>, %count: index) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %terms = arith.mulf %x, %x : tensor<?x8xf32>
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?x8xf32>, tensor<?xi64>, index) -> tensor<?x8xf32>
  return %0, %terms : tensor<?x8xf32>, tensor<?x8xf32>
}

// Short floats are added as f32; a row of two is left where rows of eight are asked for.

// CHECK-LABEL: func.func @pairs
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : tensor<3x2xf32> to tensor<3x2xf16>
// ROWS-LABEL: func.func @pairs
// ROWS: ragged.scatter_add
func.func @pairs(%terms: tensor<9x2xf16>, %positions: tensor<9xi64>) -> tensor<3x2xf16> {
  %count = arith.constant 3 : index
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<9x2xf16>, tensor<9xi64>, index) -> tensor<3x2xf16>
  return %0 : tensor<3x2xf16>
}

// Integers; rows of any length are sorted.

// CHECK-LABEL: func.func @integers
// CHECK: arith.addi
// ROWS-LABEL: func.func @integers
// ROWS: ragged.group_by
func.func @integers(%terms: tensor<?x?xi32>, %positions: tensor<?xi32>, %count: i64) -> tensor<?x?xi32> {
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?x?xi32>, tensor<?xi32>, i64) -> tensor<?x?xi32>
  return %0 : tensor<?x?xi32>
}

// Row i of every component, where that is asked for: rows are at the position that they have in their component.

// CHECK-LABEL: func.func @across
// CHECK: ragged.reduce_across
// ACROSS-LABEL: func.func @across
// ACROSS-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #{{.*}}>, %[[MAX:.*]]: index)
// ACROSS: linalg.index 1
// ACROSS: %[[POSITIONS:.*]] = ragged.values %{{.*}} : {{.*}} -> tensor<?xi64>
// ACROSS: %[[PLACES:.*]] = ragged.group_by %[[POSITIONS]], %[[MAX]]
// ACROSS: arith.constant 0xFF800000 : f32
// ACROSS: arith.maximumf
// ACROSS-NOT: ragged.reduce_across
func.func @across(%x: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %max: index) -> tensor<?x8xf32> {
  %0 = ragged.reduce_across %x, %max {dim = 1, kind = "max"}
    : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, index) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// An axis that is not the first one, or below which others are ragged, stays.

// ACROSS-LABEL: func.func @inner
// ACROSS: ragged.reduce_across
func.func @inner(%x: tensor<4x3x?xf32, #ragged.layout<"d|dr">>, %max: index) -> tensor<4x?xf32> {
  %0 = ragged.reduce_across %x, %max {dim = 2, kind = "sum"}
    : (tensor<4x3x?xf32, #ragged.layout<"d|dr">>, index) -> tensor<4x?xf32>
  return %0 : tensor<4x?xf32>
}

// Those of lists are the positions of all: behind those of the components before.

// CHECK-LABEL: func.func @lists
// CHECK: %[[IDS:.*]] = ragged.row_ids %[[POSITIONS:.*]] {level = 1}
// CHECK: %[[AT:.*]] = linalg.generic
// CHECK: tensor.extract %[[IDS]]
// CHECK: arith.muli
// CHECK: arith.addi
// CHECK: ragged.group_by %[[AT]]
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2]]
// CHECK: tensor.cast %{{.*}} : tensor<?x?x8xf32> to tensor<3x?x8xf32>
// ROWS-LABEL: func.func @lists
// ROWS-NOT: ragged.scatter_add
func.func @lists(%terms: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %positions: tensor<3x?xi32, #ragged.layout<"dr">>, %count: index) -> tensor<3x?x8xf32> {
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3x?xi32, #ragged.layout<"dr">>, index) -> tensor<3x?x8xf32>
  return %0 : tensor<3x?x8xf32>
}
