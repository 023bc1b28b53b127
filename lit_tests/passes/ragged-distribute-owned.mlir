// RUN: ragged-opt %s --ragged-distribute="ranks=2 owned=5,3 rank=1" | FileCheck %s
// RUN: ragged-opt %s --ragged-distribute="ranks=2 owned=8,0 rank=1" | FileCheck %s --check-prefix=NONE

#ranked = #ragged.layout<"ddr|d">

// Eight experts, five of which are on rank 0: what goes to each rank is ragged in the experts. What came has the experts of this
// rank alone, as often as there are ranks.

// CHECK-LABEL: func.func @dispatch
// CHECK-SAME: (%[[X:.*]]: tensor<1x8x?x8xf32, #ragged.layout<"ddr|d">>) -> tensor<3x2x?x8xf32, #ragged.layout<"ddr|d">>
// CHECK-NEXT: %[[ALL:.*]] = ragged.merge %[[X]] {dim = 0}
// CHECK-NEXT: %[[SENT:.*]] = arith.constant dense<[0, 5, 8]>
// CHECK-NEXT: %[[OWNED:.*]] = ragged.partition %[[ALL]], %[[SENT]] {dim = 0}
// CHECK-NEXT: %[[CAME:.*]] = ragged.all_to_all %[[OWNED]] : (tensor<2x?x?x8xf32, #ragged.layout<"drr|d">>)
// CHECK-NEXT: %[[FLAT:.*]] = ragged.merge %[[CAME]] {dim = 0} : {{.*}} -> tensor<6x?x8xf32, #ragged.layout<"dr|d">>
// CHECK-NEXT: %[[WANTED:.*]] = arith.constant dense<[0, 3, 6]>
// CHECK-NEXT: %[[LIKE:.*]] = ragged.partition %[[FLAT]], %[[WANTED]] {dim = 0}
// CHECK-NEXT: ragged.assert_conform %[[LIKE]], %[[CAME]] {lhs = array<i64: 0, 1>, op = "ragged.all_to_all", rhs = array<i64: 0, 1>}
// CHECK-NEXT: %[[HERE:.*]] = ragged.split %[[FLAT]] {dim = 0, factor = 3}
// CHECK-NEXT: %[[ROOM:.*]] = ragged.empty %[[HERE]]
// CHECK-NEXT: %[[SORTED:.*]] = linalg.transpose ins(%[[HERE]] {{.*}} outs(%[[ROOM]]
// CHECK-NEXT: return %[[SORTED]]

// A rank without experts takes part, and gets nothing.

// NONE-LABEL: func.func @dispatch
// NONE: ragged.all_to_all
// NONE: %[[FLAT:.*]] = ragged.merge {{.*}} -> tensor<0x?x8xf32, #ragged.layout<"dr|d">>
// NONE: %[[HERE:.*]] = ragged.split %[[FLAT]] {dim = 0, factor = 2} : {{.*}} -> tensor<0x2x?x8xf32, #ragged.layout<"ddr|d">>
// NONE-NEXT: return %[[HERE]]
func.func @dispatch(%x: tensor<2x8x?x8xf32, #ranked> {ragged.sharded}) -> tensor<8x2x?x8xf32, #ranked> {
  %0 = ragged.empty %x {from = [[0, 1], [0, 0], [0, 2], -1]} : (tensor<2x8x?x8xf32, #ranked>) -> tensor<8x2x?x8xf32, #ranked>
  %1 = linalg.transpose ins(%x : tensor<2x8x?x8xf32, #ranked>) outs(%0 : tensor<8x2x?x8xf32, #ranked>) permutation = [1, 0, 2, 3]
  return %1 : tensor<8x2x?x8xf32, #ranked>
}

// The way back.

// CHECK-LABEL: func.func @combine
// CHECK-SAME: (%[[X:.*]]: tensor<3x2x?x8xf32, #ragged.layout<"ddr|d">>) -> tensor<1x8x?x8xf32, #ragged.layout<"ddr|d">>
// CHECK-NEXT: %[[ROOM:.*]] = ragged.empty %[[X]]
// CHECK-NEXT: %[[SORTED:.*]] = linalg.transpose ins(%[[X]] {{.*}} outs(%[[ROOM]]
// CHECK-NEXT: %[[ALL:.*]] = ragged.merge %[[SORTED]] {dim = 0}
// CHECK-NEXT: %[[SENT:.*]] = arith.constant dense<[0, 3, 6]>
// CHECK-NEXT: %[[OWNED:.*]] = ragged.partition %[[ALL]], %[[SENT]] {dim = 0}
// CHECK-NEXT: %[[CAME:.*]] = ragged.all_to_all %[[OWNED]] : (tensor<2x?x?x8xf32, #ragged.layout<"drr|d">>)
// CHECK-NEXT: %[[FLAT:.*]] = ragged.merge %[[CAME]] {dim = 0} : {{.*}} -> tensor<8x?x8xf32, #ragged.layout<"dr|d">>
// CHECK-NEXT: %[[WANTED:.*]] = arith.constant dense<[0, 5, 8]>
// CHECK-NEXT: %[[LIKE:.*]] = ragged.partition %[[FLAT]], %[[WANTED]] {dim = 0}
// CHECK-NEXT: ragged.assert_conform %[[LIKE]], %[[CAME]]
// CHECK-NEXT: %[[OWN:.*]] = ragged.split %[[FLAT]] {dim = 0, factor = 8}
// CHECK-NEXT: return %[[OWN]]
func.func @combine(%x: tensor<8x2x?x8xf32, #ranked> {ragged.sharded}) -> tensor<2x8x?x8xf32, #ranked> {
  %0 = ragged.empty %x {from = [[0, 1], [0, 0], [0, 2], -1]} : (tensor<8x2x?x8xf32, #ranked>) -> tensor<2x8x?x8xf32, #ranked>
  %1 = linalg.transpose ins(%x : tensor<8x2x?x8xf32, #ranked>) outs(%0 : tensor<2x8x?x8xf32, #ranked>) permutation = [1, 0, 2, 3]
  return %1 : tensor<2x8x?x8xf32, #ranked>
}

// Loops over the experts are over those of the rank; leading dims of other extents are in blocks of one size.

// CHECK-LABEL: func.func @below
// CHECK-SAME: (%[[X:.*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>, %[[Y:.*]]: tensor<2x8xf32>)
// CHECK: %[[E:.*]] = tensor.empty() : tensor<3x8xf32>
// CHECK: %[[I:.*]] = linalg.generic {{.*}} outs(%[[E]] : tensor<3x8xf32>)
// CHECK: linalg.reduce {{.*}} ins(%[[X]] : {{.*}}) outs(%[[I]] : tensor<3x8xf32>)
// CHECK: arith.addf %[[Y]], %[[Y]] : tensor<2x8xf32>
// CHECK: ragged.split %{{.*}} {dim = 0, factor = 2} : {{.*}} -> tensor<1x2x8xf32
func.func @below(%x: tensor<8x?x8xf32, #ragged.layout<"dr|d">> {ragged.sharded}, %y: tensor<4x8xf32> {ragged.sharded})
    -> (tensor<8x8xf32>, tensor<2x2x8xf32, #ragged.layout<"dt|d">>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x8xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.reduce { arith.addf } ins(%x : tensor<8x?x8xf32, #ragged.layout<"dr|d">>) outs(%1 : tensor<8x8xf32>) dimensions = [1]
  %3 = arith.addf %y, %y : tensor<4x8xf32>
  %4 = ragged.split %3 {dim = 0, factor = 2} : (tensor<4x8xf32>) -> tensor<2x2x8xf32, #ragged.layout<"dt|d">>
  return %2, %4 : tensor<8x8xf32>, tensor<2x2x8xf32, #ragged.layout<"dt|d">>
}
