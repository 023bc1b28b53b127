// RUN: ragged-opt %s --ragged-insert-checks=arguments=false | FileCheck %s

// CHECK-LABEL: func.func @select
// CHECK: ragged.assert_valid %[[I:.*]], %{{.*}} {kind = "index", level = 0, op = "ragged.select"} : (index, index)
// CHECK: ragged.assert_valid %[[I]], %{{.*}} {kind = "index", level = 1, op = "ragged.select"} : (index, tensor<?xi64>)
func.func @select(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %i: index) {
  %0 = ragged.select %x, %i {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>, index) -> tensor<?xf32>
  %1 = ragged.select %x, %i {dim = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>, index) -> tensor<3xf32>
  return
}

// A constant index within a static extent needs no check.
// CHECK-LABEL: func.func @constant_index
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @constant_index(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  %i = arith.constant 2 : index
  %0 = ragged.select %x, %i {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>, index) -> tensor<?xf32>
  return
}

// CHECK-LABEL: func.func @slice
// CHECK: ragged.assert_valid %{{.*}} {kind = "range", level = 1, op = "ragged.slice"} : (index, tensor<3xi64>, tensor<?xi64>)
// CHECK: ragged.assert_valid %{{.*}} {kind = "range", level = 0, op = "ragged.slice"} : (index, index, index)
// CHECK: %[[SIZE:.*]] = arith.subi
// CHECK: ragged.assert_valid %[[SIZE]], %{{.*}} {kind = "equal", level = 0, op = "ragged.slice"}
func.func @slice(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %a: index, %b: tensor<3xi64>, %c: index) {
  %0 = ragged.slice %x, %a, %b {dim = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>, index, tensor<3xi64>) -> tensor<3x?xf32, #ragged.layout<"dw">>
  %1 = ragged.slice %x, %a, %c {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>, index, index) -> tensor<2x?xf32, #ragged.layout<"dr">>
  return
}

// CHECK-LABEL: func.func @split
// CHECK: ragged.assert_valid %{{.*}} {factor = 2, kind = "divides", level = 0, op = "ragged.split"} : (index)
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @split(%x: tensor<?x?xf32, #ragged.layout<"dr">>) {
  %0 = ragged.split %x {dim = 0, factor = 2} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x2x?xf32, #ragged.layout<"ddr">>
  %1 = ragged.split %x {dim = 1, factor = 2} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?x2xf32, #ragged.layout<"drt">>
  return
}

// CHECK-LABEL: func.func @assume
// CHECK: ragged.assert_valid %[[L:.*]] {factor = 8, kind = "divides", level = 1, op = "ragged.assume"}
// CHECK: ragged.assert_valid %[[L]] {factor = 1, kind = "at_least", level = 1, op = "ragged.assume"}
// CHECK: ragged.assert_valid %[[L]] {factor = 64, kind = "at_most", level = 1, op = "ragged.assume"}
func.func @assume(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  %0 = ragged.assume %x {level = 1, divisible_by = 8, min = 1, max = 64} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// CHECK-LABEL: func.func @from_padded
// CHECK: ragged.assert_valid %[[O:.*]], %{{.*}} {kind = "offsets", level = 1, op = "ragged.from_padded"} : (tensor<4xi64>, index)
// CHECK: %[[HIGH:.*]] = tensor.extract_slice %[[O]][1] [3] [1]
// CHECK: %[[LENGTHS:.*]] = arith.subi %[[HIGH]]
// CHECK: ragged.assert_valid %{{.*}}, %[[LENGTHS]] {kind = "covers", level = 1, op = "ragged.from_padded"}
func.func @from_padded(%d: tensor<3x9xf32>, %o: tensor<4xi64>) {
  %0 = ragged.from_padded %d, %o : (tensor<3x9xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// CHECK-LABEL: func.func @to_padded
// CHECK: ragged.assert_valid %[[M:.*]] {factor = 0, kind = "at_least", level = 1, op = "ragged.to_padded"}
// CHECK: ragged.assert_valid %[[M]], %{{.*}} {kind = "covers", level = 1, op = "ragged.to_padded"} : (index, tensor<?xi64>)
// CHECK: ragged.assert_valid %[[M]], %{{.*}} {kind = "fits", level = 1, op = "ragged.to_padded"}
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @to_padded(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %p: f32, %m: index) {
  %0 = ragged.to_padded %x, %p, %m : (tensor<3x?xf32, #ragged.layout<"dr">>, f32, index) -> tensor<3x?xf32>
  %1 = ragged.to_padded %x, %p, %m {truncate} : (tensor<3x?xf32, #ragged.layout<"dr">>, f32, index) -> tensor<3x?xf32>
  return
}

// CHECK-LABEL: func.func @reduce_across
// CHECK: ragged.assert_valid %[[M:.*]] {factor = 0, kind = "at_least", level = 1, op = "ragged.reduce_across"}
// CHECK: ragged.assert_valid %[[M]], %{{.*}} {kind = "covers", level = 1, op = "ragged.reduce_across"}
func.func @reduce_across(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %m: index) {
  %0 = ragged.reduce_across %x, %m {dim = 1, kind = "sum"} : (tensor<3x?xf32, #ragged.layout<"dr">>, index) -> tensor<?xf32>
  return
}

// Below the concatenated dim lengths are free; above it they conform.
// CHECK-LABEL: func.func @concat
// CHECK: ragged.assert_conform %{{.*}}, %{{.*}} {lhs = array<i64: 0, 1>, op = "ragged.concat", rhs = array<i64: 0, 1>}
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @concat(%x: tensor<3x?x?xf32, #ragged.layout<"drr">>, %y: tensor<3x?x?xf32, #ragged.layout<"drr">>) {
  %0 = ragged.concat %x, %y {dim = 2} : (tensor<3x?x?xf32, #ragged.layout<"drr">>, tensor<3x?x?xf32, #ragged.layout<"drr">>) -> tensor<3x?x?xf32, #ragged.layout<"drr">>
  %1 = ragged.concat %x, %y {dim = 0} : (tensor<3x?x?xf32, #ragged.layout<"drr">>, tensor<3x?x?xf32, #ragged.layout<"drr">>) -> tensor<6x?x?xf32, #ragged.layout<"drr">>
  return
}

// Levels of two likes: their batches have one extent. Given extents are sizes.
// CHECK-LABEL: func.func @empty
// CHECK-SAME: (%[[Q:[a-z0-9]*]]: tensor<?x?xf32, #ragged.layout<"dr">>, %[[K:[a-z0-9]*]]: tensor<?x?xf32, #ragged.layout<"dr">>, %[[N:.*]]: index)
// CHECK: ragged.assert_valid %[[N]] {factor = 0, kind = "at_least", level = 3, op = "ragged.empty"}
// CHECK-DAG: %[[A:.*]] = tensor.dim %[[Q]], %{{.*}}
// CHECK-DAG: %[[B:.*]] = tensor.dim %[[K]], %{{.*}}
// CHECK: ragged.assert_valid %[[B]], %[[A]] {kind = "equal", level = 0, op = "ragged.empty"}
// CHECK: ragged.assert_valid %[[N]], %{{.*}} {kind = "fits", level = 0, op = "ragged.empty"}
func.func @empty(%q: tensor<?x?xf32, #ragged.layout<"dr">>, %k: tensor<?x?xf32, #ragged.layout<"dr">>, %n: index) {
  %0 = ragged.empty %q, %k, %n {from = [[0, 0], [0, 1], [1, 1], -1]} : (tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x?xf32, #ragged.layout<"dr">>, index) -> tensor<?x?x?x?xf32, #ragged.layout<"drr|d">>
  return
}

// CHECK-LABEL: func.func @cast
// CHECK: ragged.assert_valid %{{.*}}, %{{.*}} {kind = "equal", level = 0, op = "tensor.cast"}
func.func @cast(%x: tensor<?x?xf32, #ragged.layout<"dr">>) {
  %0 = tensor.cast %x : tensor<?x?xf32, #ragged.layout<"dr">> to tensor<3x?xf32, #ragged.layout<"dr">>
  return
}
