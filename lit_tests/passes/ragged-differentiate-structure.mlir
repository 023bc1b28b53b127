// RUN: ragged-opt %s --split-input-file --ragged-differentiate | FileCheck %s

#jagged = #ragged.layout<"dr">

// Views have views back: the values alone where the operand is dense.
// CHECK-LABEL: func.func @partition_vjp(
// CHECK-SAME: %{{.*}}: tensor<?xf32>, %{{.*}}: tensor<4xi64>, %[[C:[a-z0-9]*]]: tensor<3x?xf32
// CHECK: %[[V:.*]] = ragged.values %[[C]]
// CHECK: return %[[V]]
func.func @partition(%x: tensor<?xf32>, %offsets: tensor<4xi64>) -> tensor<3x?xf32, #jagged> {
  %y = ragged.partition %x, %offsets {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #jagged>
  return %y : tensor<3x?xf32, #jagged>
}

// -----

// Rows of a static extent, joined by a partition of each, are as static again.
// CHECK-LABEL: func.func @rows_vjp(
// CHECK-SAME: %[[C:[a-z0-9]*]]: tensor<2x4x?xf32, #ragged.layout<"ddr">>)
// CHECK: %[[V:.*]] = ragged.values %[[C]]
// CHECK: %[[S:.*]] = tensor.cast %[[V]] : tensor<?xf32> to tensor<18xf32>
// CHECK: %[[G:.*]] = tensor.expand_shape %[[S]] {{.*}} : tensor<18xf32> into tensor<2x9xf32>
// CHECK: return %[[G]]
func.func @rows(%x: tensor<2x9xf32>, %offsets: tensor<2x5xi64>) -> tensor<2x4x?xf32, #ragged.layout<"ddr">> {
  %y = ragged.partition %x, %offsets {dim = 1} : (tensor<2x9xf32>, tensor<2x5xi64>) -> tensor<2x4x?xf32, #ragged.layout<"ddr">>
  return %y : tensor<2x4x?xf32, #ragged.layout<"ddr">>
}

// -----

#jagged = #ragged.layout<"dr">

// CHECK-LABEL: func.func @merge_vjp(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[C:[a-z0-9]*]]: tensor<?xf32>)
// CHECK: %[[O:.*]] = ragged.offsets %[[X]] {level = 1}
// CHECK: %[[G:.*]] = ragged.assemble %[[C]], %[[O]]
// CHECK: return %[[G]]
func.func @merge(%x: tensor<3x?xf32, #jagged>) -> tensor<?xf32> {
  %y = ragged.merge %x {dim = 0} : (tensor<3x?xf32, #jagged>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

#jagged = #ragged.layout<"dr">
#window = #ragged.layout<"dw">

// A slice is padded with zeros, by a concat; a concat is sliced.
// CHECK-LABEL: func.func @slice_vjp(
// CHECK: linalg.fill
// CHECK: %[[A:.*]] = ragged.slice
// CHECK: %[[B:.*]] = ragged.slice
// CHECK: ragged.concat %[[A]], %[[C:.*]], %[[B]] {dim = 1}
func.func @slice(%x: tensor<3x?xf32, #jagged>, %lo: index, %hi: index) -> tensor<3x?xf32, #window> {
  %y = ragged.slice %x, %lo, %hi {dim = 1} : (tensor<3x?xf32, #jagged>, index, index) -> tensor<3x?xf32, #window>
  return %y : tensor<3x?xf32, #window>
}

// -----

#jagged = #ragged.layout<"dr">

// CHECK-LABEL: func.func @concat_vjp(
// CHECK: ragged.slice
// CHECK: ragged.compact
// CHECK: ragged.slice
// CHECK: ragged.compact
func.func @concat(%x: tensor<3x?xf32, #jagged>, %y: tensor<3x?xf32, #jagged>) -> tensor<3x?xf32, #jagged> {
  %z = ragged.concat %x, %y {dim = 1}
    : (tensor<3x?xf32, #jagged>, tensor<3x?xf32, #jagged>) -> tensor<3x?xf32, #jagged>
  return %z : tensor<3x?xf32, #jagged>
}

// -----

#window = #ragged.layout<"dw">

// Windows may overlap: elements of the storage get the sum of what shows them.
// CHECK-LABEL: func.func @windows_vjp(
// CHECK: ragged.scatter_add
func.func @windows(%x: tensor<?xf32>, %starts: tensor<3xi64>, %lengths: tensor<3xi64>) -> tensor<3x?xf32, #window> {
  %y = ragged.assemble %x, %starts, %lengths
    : (tensor<?xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<3x?xf32, #window>
  return %y : tensor<3x?xf32, #window>
}

// -----

#window = #ragged.layout<"drw">

// So they do below ragged levels: what is shown of a list is where its window starts in the storage.
// CHECK-LABEL: func.func @inner_windows_vjp(
// CHECK: ragged.compact
// CHECK: %[[STARTS:.*]] = ragged.starts %{{.*}} {level = 2}
// CHECK: linalg.generic
// CHECK: tensor.extract %[[STARTS]]
// CHECK: ragged.scatter_add
func.func @inner_windows(%x: tensor<?xf32>, %offsets: tensor<4xi64>, %starts: tensor<?xi64>, %lengths: tensor<?xi64>) -> tensor<3x?x?xf32, #window> {
  %y = ragged.assemble %x, %offsets, %starts, %lengths
    : (tensor<?xf32>, tensor<4xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<3x?x?xf32, #window>
  return %y : tensor<3x?x?xf32, #window>
}

// -----

// The values of a view are those of what it shows: the storage has the cotangent, components that are not shown too.
// CHECK-LABEL: func.func @values_of_view_vjp(
// CHECK-SAME: %{{.*}}: tensor<3x2x?xf32, #ragged.layout<"ddr">>, %{{.*}}: index, %[[C:[a-z0-9]*]]: tensor<?xf32>)
// CHECK: %[[G:.*]] = ragged.assemble %[[C]]
// CHECK: return %[[G]]
func.func @values_of_view(%x: tensor<3x2x?xf32, #ragged.layout<"ddr">>, %i: index) -> tensor<?xf32> {
  %y = ragged.select %x, %i {dim = 1} : (tensor<3x2x?xf32, #ragged.layout<"ddr">>, index) -> tensor<3x?xf32, #ragged.layout<"dw">>
  %v = ragged.values %y : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<?xf32>
  return %v : tensor<?xf32>
}

// -----

#jagged = #ragged.layout<"dr">

// The pad has a gradient as well: the sum of where it is.
// CHECK-LABEL: func.func @to_padded_vjp(
// CHECK: tensor.extract %[[C:.*]][
// CHECK: ragged.to_padded
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "reduction"]
func.func @to_padded(%x: tensor<3x?xf32, #jagged>, %pad: f32, %max: index) -> tensor<3x?xf32> {
  %y = ragged.to_padded %x, %pad, %max : (tensor<3x?xf32, #jagged>, f32, index) -> tensor<3x?xf32>
  return %y : tensor<3x?xf32>
}

// -----

#jagged = #ragged.layout<"dr">

// CHECK-LABEL: func.func @from_padded_vjp(
// CHECK: ragged.to_padded
func.func @from_padded(%x: tensor<3x9xf32>, %offsets: tensor<4xi64>) -> tensor<3x?xf32, #jagged> {
  %y = ragged.from_padded %x, %offsets : (tensor<3x9xf32>, tensor<4xi64>) -> tensor<3x?xf32, #jagged>
  return %y : tensor<3x?xf32, #jagged>
}

// -----

#rows = #ragged.layout<"dr|d">

// Running sums are transposed to those from the other end: no history, and nothing is scattered.
// CHECK-LABEL: func.func @scan_vjp(
// CHECK-SAME: %{{.*}}: tensor<3x?x2xf32, #{{.*}}>, %[[C:[^:]*]]: tensor<3x?x2xf32
// CHECK: %[[G:.*]] = ragged.scan %[[C]] {dim = 1, kind = "sum", reverse}
// CHECK-NEXT: return %[[G]]
func.func @scan(%x: tensor<3x?x2xf32, #rows>) -> tensor<3x?x2xf32, #rows> {
  %y = ragged.scan %x {dim = 1, kind = "sum"} : (tensor<3x?x2xf32, #rows>) -> tensor<3x?x2xf32, #rows>
  return %y : tensor<3x?x2xf32, #rows>
}

// -----

#rows = #ragged.layout<"dr|d">

// What is added to a running maximum goes to the first element that is as large: a recurrence with factors 0 and 1, whose
// transpose goes the other way.
// CHECK-LABEL: func.func @largest_vjp(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x?x2xf32, #{{.*}}>, %[[C:[^:]*]]: tensor<3x?x2xf32
// CHECK: %[[BEFORE:.*]] = ragged.scan %[[X]] {dim = 1, exclusive, kind = "max"}
// CHECK: %[[SOME:.*]] = ragged.scan %{{.*}} {dim = 1, exclusive, kind = "max"} : (tensor<3x?x2xi1
// CHECK: %[[LESS:.*]] = arith.cmpf ole, %[[X]], %[[BEFORE]]
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[BEFORE]], %[[BEFORE]]
// CHECK: %[[COVERED:.*]] = arith.ori %[[LESS]], %[[NAN]]
// CHECK: %[[ON:.*]] = arith.andi %[[SOME]], %[[COVERED]]
// CHECK: %[[FACTORS:.*]] = arith.select %[[ON]],
// CHECK: %[[UPSTREAM:.*]] = arith.select %[[ON]], %[[C]],
// CHECK: %[[TERMS:.*]] = ragged.recurrence %[[UPSTREAM]], %[[FACTORS]] {dim = 1, reverse}
// CHECK: %[[ALL:.*]] = arith.addf %[[C]], %[[TERMS]]
// CHECK: arith.select %[[ON]], %{{.*}}, %[[ALL]]
func.func @largest(%x: tensor<3x?x2xf32, #rows>) -> tensor<3x?x2xf32, #rows> {
  %y = ragged.scan %x {dim = 1, kind = "max"} : (tensor<3x?x2xf32, #rows>) -> tensor<3x?x2xf32, #rows>
  return %y : tensor<3x?x2xf32, #rows>
}

// -----

#jagged = #ragged.layout<"dr">
#id = affine_map<(i) -> (i)>

// A table that a body makes is made in front of it, and has a gradient.
// CHECK-LABEL: func.func @table_in_body_vjp(
// CHECK: ragged.values
// CHECK: linalg.generic
// CHECK-NEXT: ^bb0
// CHECK-NOT: ragged.values
// CHECK: linalg.yield
// CHECK: ragged.scatter_add
func.func @table_in_body(%x: tensor<3x?xf32, #jagged>, %p: tensor<?xindex>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %y = arith.mulf %x, %x : tensor<3x?xf32, #jagged>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%p : tensor<?xindex>) outs(%o : tensor<?xf32>) {
  ^bb0(%i: index, %e: f32):
    %values = ragged.values %y : (tensor<3x?xf32, #jagged>) -> tensor<?xf32>
    %t = tensor.extract %values[%i] : tensor<?xf32>
    linalg.yield %t : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

#rows = #ragged.layout<"dr|d">
#id = affine_map<(b, i, k) -> (b, i, k)>

// One element for all others, by loops that are said to go over all of these: nothing is added to places.
// CHECK-LABEL: func.func @chosen_vjp(
// CHECK-NOT: ragged.scatter_add
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<3x?x4xf32, #ragged.layout<"dr|d">>)
// CHECK: %[[HERE:.*]] = linalg.index 2
// CHECK: %[[AT:.*]] = arith.index_cast %[[HERE]] : index to i64
// CHECK: %[[CHOSEN:.*]] = arith.cmpi eq, %[[AT]], %{{.*}} : i64
// CHECK: arith.select %[[CHOSEN]], %{{.*}}, %{{.*}} : f32
func.func @chosen(%x: tensor<3x?x4xf32, #rows>, %p: tensor<3x?x1xindex, #rows>) -> tensor<3x?x1xf32, #rows> {
  %e = ragged.empty %p : (tensor<3x?x1xindex, #rows>) -> tensor<3x?x1xf32, #rows>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p : tensor<3x?x1xindex, #rows>) outs(%e : tensor<3x?x1xf32, #rows>) {
  ^bb0(%at: index, %out: f32):
    %b = linalg.index 0 : index
    %i = linalg.index 1 : index
    %t = tensor.extract %x[%b, %i, %at] {ragged.at_loops} : tensor<3x?x4xf32, #rows>
    linalg.yield %t : f32
  } -> tensor<3x?x1xf32, #rows>
  return %0 : tensor<3x?x1xf32, #rows>
}

// -----

#window = #ragged.layout<"dw|d">
#jagged = #ragged.layout<"dr|d">

// The cotangent of a copy of windows has no gaps: it is added as it is, without a copy of its own.
// CHECK-LABEL: func.func @copied_vjp(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf64>, %[[S:.*]]: tensor<?xi64>, %[[N:.*]]: tensor<?xi64>, %[[G:.*]]: tensor<?x?x4xf64, #ragged.layout<"dr|d">>)
// CHECK: %[[W:.*]] = ragged.assemble %[[X]], %[[S]], %[[N]]
// CHECK: %[[STORAGE:.*]] = ragged.values %[[G]]
// CHECK: ragged.assemble %[[STORAGE]], {{.*}} -> tensor<?x?x4xf64, #ragged.layout<"dr|d">>
// CHECK-NOT: ragged.compact
// CHECK: ragged.scatter_add
func.func @copied(%x: tensor<?x4xf64>, %starts: tensor<?xi64>, %lengths: tensor<?xi64>) -> tensor<?x?x4xf64, #jagged> {
  %w = ragged.assemble %x, %starts, %lengths : (tensor<?x4xf64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x?x4xf64, #window>
  %c = ragged.compact %w : (tensor<?x?x4xf64, #window>) -> tensor<?x?x4xf64, #jagged>
  return %c : tensor<?x?x4xf64, #jagged>
}
