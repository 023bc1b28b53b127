// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize --cse | FileCheck %s

#L = #ragged.layout<"dr|d">
#whole = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#rest = affine_map<(d0, d1, d2) -> (d0, d2)>

// A loop that goes backwards is a loop of its own, which counts from the last row of a component.

// CHECK-LABEL: func.func @ragged
// CHECK: scf.forall
// CHECK: scf.for %[[I:.*]] = %c0 to %[[LENGTH:.*]] step %c1 iter_args
// CHECK: %[[LEFT:.*]] = arith.subi %[[LENGTH]], %[[I]]
// CHECK: %[[AT:.*]] = arith.subi %[[LEFT]], %c1
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %[[AT]]
// CHECK: tensor.extract_slice %{{.*}}[%[[ROW]], 0] [1, 8] [1, 1]
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]
func.func @ragged(%x: tensor<?x?x8xf32, #L>, %zeros: tensor<?x8xf32>, %o: tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L> {
  %y:2 = linalg.generic {indexing_maps = [#whole, #rest, #whole], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<?x?x8xf32, #L>) outs(%zeros, %o : tensor<?x8xf32>, tensor<?x?x8xf32, #L>)
      attrs = {ragged.backwards = 1 : i64} {
  ^bb0(%a: f32, %s: f32, %old: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t, %t : f32, f32
  } -> (tensor<?x8xf32>, tensor<?x?x8xf32, #L>)
  return %y#1 : tensor<?x?x8xf32, #L>
}

// So it is of dense tensors: no other pass knows which way it goes.

// CHECK-LABEL: func.func @dense
// CHECK: scf.for
// CHECK: scf.for %[[I:.*]] = %c0 to %c5
// CHECK: arith.subi %c4, %[[I]]
func.func @dense(%x: tensor<3x5x8xf32>, %zeros: tensor<3x8xf32>, %o: tensor<3x5x8xf32>) -> tensor<3x5x8xf32> {
  %y:2 = linalg.generic {indexing_maps = [#whole, #rest, #whole], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<3x5x8xf32>) outs(%zeros, %o : tensor<3x8xf32>, tensor<3x5x8xf32>)
      attrs = {ragged.backwards = 1 : i64} {
  ^bb0(%a: f32, %s: f32, %old: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t, %t : f32, f32
  } -> (tensor<3x8xf32>, tensor<3x5x8xf32>)
  return %y#1 : tensor<3x5x8xf32>
}
