// RUN: ragged-opt %s --ragged-distribute=ranks=2 | FileCheck %s

#ranked = #ragged.layout<"ddr|d">

// The tokens of four experts, two of which are on each of two ranks: what a rank has for others goes, and a transpose is of what
// came.

// CHECK-LABEL: func.func @dispatch
// CHECK-SAME: (%[[T:.*]]: tensor<1x100x8xf32>, %[[O:.*]]: tensor<1x5xi64>) -> tensor<2x?x8xf32, #ragged.layout<"dr|d">>
// CHECK-NEXT: %[[SENT:.*]] = ragged.partition %[[T]], %[[O]] {dim = 1}
// CHECK-NEXT: %[[ALL:.*]] = ragged.merge %[[SENT]] {dim = 0}
// CHECK-NEXT: %[[OWNED:.*]] = ragged.split %[[ALL]] {dim = 0, factor = 2}
// CHECK-NEXT: %[[CAME:.*]] = ragged.all_to_all %[[OWNED]] : (tensor<2x2x?x8xf32, #ragged.layout<"ddr|d">>)
// CHECK-NEXT: %[[ROOM:.*]] = ragged.empty %[[CAME]] {from = {{\[\[}}0, 1], [0, 0], [0, 2], -1]}
// CHECK-NEXT: %[[HERE:.*]] = linalg.transpose ins(%[[CAME]] {{.*}} outs(%[[ROOM]] {{.*}} permutation = [1, 0, 2, 3]
// CHECK-NEXT: %[[MERGED:.*]] = ragged.merge %[[HERE]] {dim = 1}
// CHECK-NEXT: return %[[MERGED]]
func.func @dispatch(%tokens: tensor<2x100x8xf32> {ragged.sharded}, %offsets: tensor<2x5xi64> {ragged.sharded})
    -> tensor<4x?x8xf32, #ragged.layout<"dr|d">> {
  %0 = ragged.partition %tokens, %offsets {dim = 1} : (tensor<2x100x8xf32>, tensor<2x5xi64>) -> tensor<2x4x?x8xf32, #ranked>
  %1 = ragged.empty %0 {from = [[0, 1], [0, 0], [0, 2], -1]} : (tensor<2x4x?x8xf32, #ranked>) -> tensor<4x2x?x8xf32, #ranked>
  %2 = linalg.transpose ins(%0 : tensor<2x4x?x8xf32, #ranked>) outs(%1 : tensor<4x2x?x8xf32, #ranked>) permutation = [1, 0, 2, 3]
  %3 = ragged.merge %2 {dim = 1} : (tensor<4x2x?x8xf32, #ranked>) -> tensor<4x?x8xf32, #ragged.layout<"dr|d">>
  return %3 : tensor<4x?x8xf32, #ragged.layout<"dr|d">>
}

// The way back: sorted by where it goes first.

// CHECK-LABEL: func.func @combine
// CHECK-SAME: (%[[X:.*]]: tensor<2x2x?x8xf32, #ragged.layout<"ddr|d">>) -> tensor<1x4x?x8xf32, #ragged.layout<"ddr|d">>
// CHECK-NEXT: %[[ROOM:.*]] = ragged.empty %[[X]]
// CHECK-NEXT: %[[SORTED:.*]] = linalg.transpose ins(%[[X]] {{.*}} outs(%[[ROOM]]
// CHECK-NEXT: %[[BACK:.*]] = ragged.all_to_all %[[SORTED]]
// CHECK-NEXT: %[[ALL:.*]] = ragged.merge %[[BACK]] {dim = 0}
// CHECK-NEXT: %[[OWN:.*]] = ragged.split %[[ALL]] {dim = 0, factor = 4}
// CHECK-NEXT: return %[[OWN]]
func.func @combine(%x: tensor<4x2x?x8xf32, #ranked> {ragged.sharded}) -> tensor<2x4x?x8xf32, #ranked> {
  %0 = ragged.empty %x {from = [[0, 1], [0, 0], [0, 2], -1]} : (tensor<4x2x?x8xf32, #ranked>) -> tensor<2x4x?x8xf32, #ranked>
  %1 = linalg.transpose ins(%x : tensor<4x2x?x8xf32, #ranked>) outs(%0 : tensor<2x4x?x8xf32, #ranked>) permutation = [1, 0, 2, 3]
  return %1 : tensor<2x4x?x8xf32, #ranked>
}

// Loops below the leading dim; what is filled becomes as large as what it meets, and others stay whole.

// CHECK-LABEL: func.func @below
// CHECK-SAME: (%[[X:.*]]: tensor<2x?x8xf32, #ragged.layout<"dr|d">>, %[[B:.*]]: tensor<8xf32>)
// CHECK: %[[E:.*]] = tensor.empty() : tensor<2x8xf32>
// CHECK: %[[I:.*]] = linalg.generic {{.*}} outs(%[[E]] : tensor<2x8xf32>)
// CHECK: linalg.reduce {{.*}} ins(%[[X]] : {{.*}}) outs(%[[I]] : tensor<2x8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[B]] :
func.func @below(%x: tensor<4x?x8xf32, #ragged.layout<"dr|d">> {ragged.sharded}, %b: tensor<8xf32>)
    -> (tensor<4x8xf32>, tensor<4x?x8xf32, #ragged.layout<"dr|d">>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.reduce { arith.addf } ins(%x : tensor<4x?x8xf32, #ragged.layout<"dr|d">>) outs(%1 : tensor<4x8xf32>) dimensions = [1]
  %3 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j, k)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %b : tensor<4x?x8xf32, #ragged.layout<"dr|d">>, tensor<8xf32>) outs(%x : tensor<4x?x8xf32, #ragged.layout<"dr|d">>) {
  ^bb0(%p: f32, %q: f32, %r: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x?x8xf32, #ragged.layout<"dr|d">>
  return %2, %3 : tensor<4x8xf32>, tensor<4x?x8xf32, #ragged.layout<"dr|d">>
}

// What every rank has whole stays as it is, and so does a function without sharded arguments.

// CHECK-LABEL: func.func @whole
// CHECK-SAME: (%{{.*}}: tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @whole(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = arith.addf %x, %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
