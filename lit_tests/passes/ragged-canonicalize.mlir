// RUN: ragged-opt %s --ragged-canonicalize | FileCheck %s

#dr = #ragged.layout<"dr">
#drd = #ragged.layout<"dr|d">

// CHECK-LABEL: func.func @merge_of_partition
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %{{.*}}: tensor<4xi64>)
// CHECK-NEXT: return %[[X]]
func.func @merge_of_partition(%x: tensor<?xf32>, %o: tensor<4xi64>) -> tensor<?xf32> {
  %0 = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #dr>
  %1 = ragged.merge %0 {dim = 0} : (tensor<3x?xf32, #dr>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// The offsets are those of the merged tensor; only a static extent differs.
// CHECK-LABEL: func.func @partition_of_merge
// CHECK-SAME: (%[[Y:.*]]: tensor<3x?xf32
// CHECK-NEXT: %[[C:.*]] = tensor.cast %[[Y]]
// CHECK-NEXT: return %[[C]]
func.func @partition_of_merge(%y: tensor<3x?xf32, #dr>) -> tensor<?x?xf32, #dr> {
  %o = ragged.offsets %y {level = 1} : (tensor<3x?xf32, #dr>) -> tensor<?xi64>
  %0 = ragged.merge %y {dim = 0} : (tensor<3x?xf32, #dr>) -> tensor<?xf32>
  %1 = ragged.partition %0, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #dr>
  return %1 : tensor<?x?xf32, #dr>
}

// Other offsets: nothing cancels.
// CHECK-LABEL: func.func @repartition
// CHECK: ragged.merge
// CHECK: ragged.partition
func.func @repartition(%y: tensor<3x?xf32, #dr>, %o: tensor<?xi64>) -> tensor<?x?xf32, #dr> {
  %0 = ragged.merge %y {dim = 0} : (tensor<3x?xf32, #dr>) -> tensor<?xf32>
  %1 = ragged.partition %0, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #dr>
  return %1 : tensor<?x?xf32, #dr>
}

// Of three dims in a row the first two merge first.
// CHECK-LABEL: func.func @merge_order
// CHECK: ragged.merge %{{.*}} {dim = 0} : (tensor<2x?x?xf32
// CHECK: ragged.merge %{{.*}} {dim = 0} : (tensor<?x?xf32
func.func @merge_order(%x: tensor<2x?x?xf32, #ragged.layout<"drr">>) -> tensor<?xf32> {
  %0 = ragged.merge %x {dim = 1} : (tensor<2x?x?xf32, #ragged.layout<"drr">>) -> tensor<2x?xf32, #dr>
  %1 = ragged.merge %0 {dim = 0} : (tensor<2x?xf32, #dr>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// The merges of the outer dims stand between the partition and the merge that undoes it.
// CHECK-LABEL: func.func @merges_in_between
// CHECK-NEXT: %[[A:.*]] = ragged.merge %{{.*}} {dim = 0} : (tensor<?x?x?x2xf32
// CHECK-NEXT: %[[B:.*]] = ragged.merge %[[A]] {dim = 1}
// CHECK-NEXT: return %[[B]]
func.func @merges_in_between(%x: tensor<?x?x?x2xf32, #ragged.layout<"drr|d">>, %o: tensor<?x?xi64>) -> tensor<?x?xf32, #dr> {
  %0 = ragged.partition %x, %o {dim = 1} : (tensor<?x?x?x2xf32, #ragged.layout<"drr|d">>, tensor<?x?xi64>) -> tensor<?x?x?x?x2xf32, #ragged.layout<"ddrr|d">>
  %1 = ragged.merge %0 {dim = 3} : (tensor<?x?x?x?x2xf32, #ragged.layout<"ddrr|d">>) -> tensor<?x?x?x?xf32, #ragged.layout<"ddrr">>
  %2 = ragged.merge %1 {dim = 0} : (tensor<?x?x?x?xf32, #ragged.layout<"ddrr">>) -> tensor<?x?x?xf32, #ragged.layout<"drr">>
  %3 = ragged.merge %2 {dim = 0} : (tensor<?x?x?xf32, #ragged.layout<"drr">>) -> tensor<?x?xf32, #dr>
  return %3 : tensor<?x?xf32, #dr>
}

// Partition of a batch dim, merged: the rows have lengths now, and it stays.
// CHECK-LABEL: func.func @partitioned_batch
// CHECK-NEXT: ragged.partition
// CHECK-NEXT: ragged.merge
// CHECK-NEXT: return
func.func @partitioned_batch(%x: tensor<?x?x?xf32, #ragged.layout<"ddr">>, %o: tensor<?x?xi64>) -> tensor<?x?x?xf32, #ragged.layout<"drr">> {
  %0 = ragged.partition %x, %o {dim = 1} : (tensor<?x?x?xf32, #ragged.layout<"ddr">>, tensor<?x?xi64>) -> tensor<?x?x?x?xf32, #ragged.layout<"ddrr">>
  %1 = ragged.merge %0 {dim = 1} : (tensor<?x?x?x?xf32, #ragged.layout<"ddrr">>) -> tensor<?x?x?xf32, #ragged.layout<"drr">>
  return %1 : tensor<?x?x?xf32, #ragged.layout<"drr">>
}

// The vector is found behind ops on other dims.
// CHECK-LABEL: func.func @vector_of_maker
// CHECK-SAME: (%{{.*}}: tensor<?xf32>, %[[O:.*]]: tensor<?xi64>, %{{.*}}: tensor<?x?xi64>)
// CHECK: return %[[O]]
func.func @vector_of_maker(%x: tensor<?xf32>, %o: tensor<?xi64>, %p: tensor<?x?xi64>) -> tensor<?xi64> {
  %0 = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #dr>
  %1 = ragged.split %0 {dim = 0, factor = 2} : (tensor<?x?xf32, #dr>) -> tensor<?x2x?xf32, #ragged.layout<"ddr">>
  %2 = ragged.partition %1, %p {dim = 1} : (tensor<?x2x?xf32, #ragged.layout<"ddr">>, tensor<?x?xi64>) -> tensor<?x?x?x?xf32, #ragged.layout<"ddrr">>
  %3 = ragged.merge %2 {dim = 1} : (tensor<?x?x?x?xf32, #ragged.layout<"ddrr">>) -> tensor<?x?x?xf32, #ragged.layout<"drr">>
  %4 = ragged.offsets %3 {level = 2} : (tensor<?x?x?xf32, #ragged.layout<"drr">>) -> tensor<?xi64>
  return %4 : tensor<?xi64>
}

// Merged levels have a vector of their own.
// CHECK-LABEL: func.func @vector_of_merged
// CHECK: %[[V:.*]] = ragged.offsets
// CHECK: return %[[V]]
func.func @vector_of_merged(%x: tensor<?xf32>, %o: tensor<?xi64>, %p: tensor<?xi64>) -> tensor<?xi64> {
  %0 = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #dr>
  %1 = ragged.partition %0, %p {dim = 0} : (tensor<?x?xf32, #dr>, tensor<?xi64>) -> tensor<?x?x?xf32, #ragged.layout<"drr">>
  %2 = ragged.merge %1 {dim = 1} : (tensor<?x?x?xf32, #ragged.layout<"drr">>) -> tensor<?x?xf32, #dr>
  %3 = ragged.offsets %2 {level = 1} : (tensor<?x?xf32, #dr>) -> tensor<?xi64>
  return %3 : tensor<?xi64>
}

// Merged values have no extent that an argument tells.
// CHECK-LABEL: func.func @total_of_merged
// CHECK: ragged.total
func.func @total_of_merged(%x: tensor<?x4xf32, #ragged.layout<"dt">>, %o: tensor<?xi64>) -> index {
  %0 = ragged.merge %x {dim = 0} : (tensor<?x4xf32, #ragged.layout<"dt">>) -> tensor<?xf32>
  %1 = ragged.partition %0, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #dr>
  %2 = ragged.total %1 {level = 1} : (tensor<?x?xf32, #dr>) -> index
  return %2 : index
}

// CHECK-LABEL: func.func @assemble
// CHECK: %[[A:.*]] = ragged.partition %{{.*}}, %{{.*}} {dim = 0} : (tensor<?x8xf32>, tensor<?xi64>)
// CHECK: ragged.partition %[[A]], %{{.*}} {dim = 0}
func.func @assemble(%v: tensor<?x8xf32>, %o: tensor<3xi64>, %p: tensor<?xi64>) -> tensor<2x?x?x8xf32, #ragged.layout<"drr|d">> {
  %0 = ragged.assemble %v, %o, %p
       : (tensor<?x8xf32>, tensor<3xi64>, tensor<?xi64>) -> tensor<2x?x?x8xf32, #ragged.layout<"drr|d">>
  return %0 : tensor<2x?x?x8xf32, #ragged.layout<"drr|d">>
}

// CHECK-LABEL: func.func @parts
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32>, %[[O:.*]]: tensor<?xi64>)
// CHECK: %[[C:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[N:.*]] = tensor.dim %[[X]], %[[C]]
// CHECK-NEXT: return %[[X]], %[[O]], %[[N]]
func.func @parts(%x: tensor<?x8xf32>, %o: tensor<?xi64>) -> (tensor<?x8xf32>, tensor<?xi64>, index) {
  %0 = ragged.partition %x, %o {dim = 0} : (tensor<?x8xf32>, tensor<?xi64>) -> tensor<?x?x8xf32, #drd>
  %e = math.exp %0 : tensor<?x?x8xf32, #drd>
  %v = ragged.values %0 : (tensor<?x?x8xf32, #drd>) -> tensor<?x8xf32>
  %w = ragged.offsets %e {level = 1} : (tensor<?x?x8xf32, #drd>) -> tensor<?xi64>
  %n = ragged.total %e {level = 1} : (tensor<?x?x8xf32, #drd>) -> index
  return %v, %w, %n : tensor<?x8xf32>, tensor<?xi64>, index
}

// CHECK-LABEL: func.func @constant_facts
// CHECK-DAG: arith.constant 198 : index
// CHECK-DAG: arith.constant 325 : index
// CHECK-NEXT: return
func.func @constant_facts(%x: tensor<?xf32>) -> (index, index) {
  %o = arith.constant dense<[0, 127, 127, 325]> : tensor<4xi64>
  %0 = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #dr>
  %m = ragged.max_length %0 {level = 1} : (tensor<3x?xf32, #dr>) -> index
  %n = ragged.total %0 {level = 1} : (tensor<3x?xf32, #dr>) -> index
  return %m, %n : index, index
}

// CHECK-LABEL: func.func @empty_root
// CHECK-SAME: (%[[X:.*]]: tensor
// CHECK-NEXT: ragged.empty %[[X]] :
func.func @empty_root(%x: tensor<3x?xf32, #dr>) -> tensor<3x?xi1, #dr> {
  %0 = math.exp %x : tensor<3x?xf32, #dr>
  %1 = arith.cmpf ogt, %0, %x : tensor<3x?xf32, #dr>
  %2 = ragged.empty %1 : (tensor<3x?xi1, #dr>) -> tensor<3x?xi1, #dr>
  return %2 : tensor<3x?xi1, #dr>
}

// Below a window an assemble was given the stored lengths, and the logical ones are others.
// CHECK-LABEL: func.func @lengths_below_window
// CHECK-SAME: (%{{.*}}: tensor<?xf32>, %{{.*}}: tensor<?xi64>, %{{.*}}: tensor<?xi64>, %{{.*}}: tensor<?xi64>, %[[L:.*]]: tensor<?xi64>)
// CHECK: %[[X:.*]] = ragged.assemble
// CHECK: %[[LOGICAL:.*]] = ragged.lengths %[[X]] {level = 2} :
// CHECK: return %[[LOGICAL]], %[[L]]
func.func @lengths_below_window(%v: tensor<?xf32>, %a: tensor<?xi64>, %b: tensor<?xi64>, %c: tensor<?xi64>,
                                %d: tensor<?xi64>) -> (tensor<?xi64>, tensor<?xi64>) {
  %x = ragged.assemble %v, %a, %b, %c, %d
       : (tensor<?xf32>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>)
       -> tensor<?x?x?xf32, #ragged.layout<"dww">>
  %0 = ragged.lengths %x {level = 2} : (tensor<?x?x?xf32, #ragged.layout<"dww">>) -> tensor<?xi64>
  %1 = ragged.lengths %x {level = 2, stored} : (tensor<?x?x?xf32, #ragged.layout<"dww">>) -> tensor<?xi64>
  return %0, %1 : tensor<?xi64>, tensor<?xi64>
}

// Where the two are one there is one spelling.
// CHECK-LABEL: func.func @stored_lengths
// CHECK: ragged.lengths %{{.*}} {level = 1} :
// CHECK: ragged.lengths %{{.*}} {level = 1, stored} :
func.func @stored_lengths(%x: tensor<?x?xf32, #dr>, %y: tensor<?x?x4xf32, #ragged.layout<"drt">>) -> (tensor<?xi64>, tensor<?xi64>) {
  %0 = ragged.lengths %x {level = 1, stored} : (tensor<?x?xf32, #dr>) -> tensor<?xi64>
  %1 = ragged.lengths %y {level = 1, stored} : (tensor<?x?x4xf32, #ragged.layout<"drt">>) -> tensor<?xi64>
  return %0, %1 : tensor<?xi64>, tensor<?xi64>
}

// The number of windows times their totals is not what constant offsets below them add up to.
// CHECK-LABEL: func.func @total_below_window
// CHECK: %[[T:.*]] = ragged.total
// CHECK: return %[[T]]
func.func @total_below_window(%v: tensor<4xf32>, %a: tensor<?xi64>, %b: tensor<?xi64>) -> index {
  %o = arith.constant dense<[0, 2, 4]> : tensor<3xi64>
  %x = ragged.assemble %v, %a, %b, %o
       : (tensor<4xf32>, tensor<?xi64>, tensor<?xi64>, tensor<3xi64>) -> tensor<?x?x?xf32, #ragged.layout<"dwr">>
  %0 = ragged.total %x {level = 2} : (tensor<?x?x?xf32, #ragged.layout<"dwr">>) -> index
  return %0 : index
}

// Numbers of tiles are not the lengths that windows are stored with: this is another tensor.
// CHECK-LABEL: func.func @reassemble
// CHECK: %[[A:.*]] = ragged.assemble
// CHECK: return %[[A]], %{{.*}}
func.func @reassemble(%x: tensor<?x?x4xf32, #ragged.layout<"dwt">>)
    -> (tensor<?x?x4xf32, #ragged.layout<"dwt">>, tensor<?x?x4xf32, #ragged.layout<"dwt">>) {
  %v = ragged.values %x : (tensor<?x?x4xf32, #ragged.layout<"dwt">>) -> tensor<?xf32>
  %s = ragged.starts %x {level = 1} : (tensor<?x?x4xf32, #ragged.layout<"dwt">>) -> tensor<?xi64>
  %t = ragged.lengths %x {level = 1} : (tensor<?x?x4xf32, #ragged.layout<"dwt">>) -> tensor<?xi64>
  %l = ragged.lengths %x {level = 1, stored} : (tensor<?x?x4xf32, #ragged.layout<"dwt">>) -> tensor<?xi64>
  %0 = ragged.assemble %v, %s, %t
       : (tensor<?xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x?x4xf32, #ragged.layout<"dwt">>
  %1 = ragged.assemble %v, %s, %l
       : (tensor<?xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x?x4xf32, #ragged.layout<"dwt">>
  return %0, %1 : tensor<?x?x4xf32, #ragged.layout<"dwt">>, tensor<?x?x4xf32, #ragged.layout<"dwt">>
}

// An empty that names every level of its only like, one by one, has its structure: values that are partitioned again by
// the offsets that they have are what they were of.
// CHECK-LABEL: func.func @partition_of_values_of_empty
// CHECK: %[[FILLED:.*]] = linalg.generic
// CHECK: return %[[FILLED]]
func.func @partition_of_values_of_empty(%v: tensor<?xf32>, %o: tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %x = ragged.partition %v, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %e = ragged.empty %x {from = [[0, 0], [0, 1]]} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x?xf32, #ragged.layout<"dr">>) outs(%e : tensor<?x?xf32, #ragged.layout<"dr">>) {
  ^bb0(%a: f32, %out: f32):
    %b = arith.mulf %a, %a : f32
    linalg.yield %b : f32
  } -> tensor<?x?xf32, #ragged.layout<"dr">>
  %values = ragged.values %y : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
  %again = ragged.partition %values, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %again : tensor<?x?xf32, #ragged.layout<"dr">>
}

// Rows of pairs: their components are those of the rows, and nobody counts the pairs.
// CHECK-LABEL: func.func @empty_of_rows_of_pairs
// CHECK: %[[X:.*]] = ragged.partition
// CHECK-NEXT: %[[ROWS:.*]] = ragged.empty %[[X]] {from = {{\[\[}}0, 0], [0, 1]]}
// CHECK-NEXT: return %[[ROWS]]
func.func @empty_of_rows_of_pairs(%v: tensor<?xf32>, %o: tensor<?xi64>) -> tensor<?x?xi64, #ragged.layout<"dr">> {
  %x = ragged.partition %v, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %pairs = ragged.empty %x, %x {from = [[0, 0], [0, 1], [1, 1]]}
      : (tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?x?xf32, #ragged.layout<"drr">>
  %rows = ragged.empty %pairs {from = [[0, 0], [0, 1]]} : (tensor<?x?x?xf32, #ragged.layout<"drr">>) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return %rows : tensor<?x?xi64, #ragged.layout<"dr">>
}

// A dim of extent 1 beside the components, which are known to be as many.
// CHECK-LABEL: func.func @merge_of_assemble
// CHECK-NEXT: %[[X:.*]] = ragged.partition %{{.*}}, %{{.*}} {dim = 0}
// CHECK-NEXT: return %[[X]]
func.func @merge_of_assemble(%v: tensor<?xf32>, %o: tensor<?xi64>, %n: index) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %c1 = arith.constant 1 : index
  %x = ragged.assemble %v, %o, %n, %c1 {ragged.checked}
      : (tensor<?xf32>, tensor<?xi64>, index, index) -> tensor<?x?x?xf32, #ragged.layout<"ddr">>
  %y = ragged.merge %x {dim = 0} : (tensor<?x?x?xf32, #ragged.layout<"ddr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %y : tensor<?x?xf32, #ragged.layout<"dr">>
}

// Of three batch dims the product of two is asked for.
// CHECK-LABEL: func.func @merge_of_assemble_with_extents
// CHECK-SAME: %[[V:.*]]: tensor<?xf32>, %[[O:.*]]: tensor<?xi64>, %[[A:.*]]: index, %[[B:.*]]: index, %[[C:.*]]: index
// CHECK: %[[BC:.*]] = arith.muli %[[B]], %[[C]] : index
// CHECK: ragged.assemble %[[V]], %[[O]], %[[A]], %[[BC]] {ragged.checked}
// CHECK-NOT: ragged.merge
func.func @merge_of_assemble_with_extents(%v: tensor<?xf32>, %o: tensor<?xi64>, %a: index, %b: index, %c: index)
    -> tensor<?x?x?xf32, #ragged.layout<"ddr">> {
  %x = ragged.assemble %v, %o, %a, %b, %c {ragged.checked}
      : (tensor<?xf32>, tensor<?xi64>, index, index, index) -> tensor<?x?x?x?xf32, #ragged.layout<"dddr">>
  %y = ragged.merge %x {dim = 1} : (tensor<?x?x?x?xf32, #ragged.layout<"dddr">>) -> tensor<?x?x?xf32, #ragged.layout<"ddr">>
  return %y : tensor<?x?x?xf32, #ragged.layout<"ddr">>
}

// What is not known to hold is asked for of the dims as they are.
// CHECK-LABEL: func.func @merge_of_unchecked_assemble
// CHECK: ragged.merge
func.func @merge_of_unchecked_assemble(%v: tensor<?xf32>, %o: tensor<?xi64>, %n: index) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %c1 = arith.constant 1 : index
  %x = ragged.assemble %v, %o, %n, %c1
      : (tensor<?xf32>, tensor<?xi64>, index, index) -> tensor<?x?x?xf32, #ragged.layout<"ddr">>
  %y = ragged.merge %x {dim = 0} : (tensor<?x?x?xf32, #ragged.layout<"ddr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %y : tensor<?x?xf32, #ragged.layout<"dr">>
}

// The dense extent that is taken is one of its own, which the tensor with the same lengths does not have.
// CHECK-LABEL: func.func @empty_with_dense_extent_of_empty
// CHECK: %[[ROWS:.*]] = ragged.empty %{{.*}}, %{{.*}} : (tensor<3x?x1xf32, #ragged.layout<"dr|d">>, index)
// CHECK: ragged.empty %[[ROWS]] {from = {{\[\[}}0, 0], [0, 1], [0, 2]]}
func.func @empty_with_dense_extent_of_empty(%x: tensor<3x?x1xf32, #ragged.layout<"dr|d">>, %n: index) -> tensor<3x?x?xf32, #ragged.layout<"dr|d">> {
  %rows = ragged.empty %x, %n : (tensor<3x?x1xf32, #ragged.layout<"dr|d">>, index) -> tensor<3x?x?xf32, #ragged.layout<"dr|d">>
  %same = ragged.empty %rows {from = [[0, 0], [0, 1], [0, 2]]} : (tensor<3x?x?xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x?xf32, #ragged.layout<"dr|d">>
  return %same : tensor<3x?x?xf32, #ragged.layout<"dr|d">>
}
