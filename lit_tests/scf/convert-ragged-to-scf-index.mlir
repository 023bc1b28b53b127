// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize --cse | FileCheck %s

#rd = #ragged.layout<"dr|d">
#dd = #ragged.layout<"ddr">

// The outer loop's share of an index expression, constant included, is where the slice starts.
// CHECK: #[[LOW:.*]] = affine_map<(d0) -> (d0 * 2 + 1)>
// CHECK: #[[REST:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @separable
// CHECK-SAME: %[[T:[^ ]*]]: tensor<?xf32>)
// CHECK: scf.for %[[B:[^ ]*]] =
// CHECK: %[[AT:[^ ]*]] = affine.apply #[[LOW]](%[[B]])
// CHECK: tensor.extract_slice %[[T]][%[[AT]]]
// CHECK: linalg.generic {indexing_maps = [#[[REST]], #{{.*}}], iterator_types = ["parallel", "parallel"]}
func.func @separable(%x: tensor<?x?x4xf32, #rd>, %t: tensor<?xf32>) -> tensor<?x?x4xf32, #rd> {
  %0 = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b * 2 + j + 1)>, affine_map<(b, i, j) -> (b, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t : tensor<?xf32>) outs(%x : tensor<?x?x4xf32, #rd>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?x?x4xf32, #rd>
  return %0 : tensor<?x?x4xf32, #rd>
}

// A quotient of both has no such share: the inner loop becomes explicit too.
// CHECK-LABEL: func.func @mixed
// CHECK-COUNT-2: scf.for %
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]
func.func @mixed(%x: tensor<?x?x4xf32, #rd>, %t: tensor<?xf32>) -> tensor<?x?x4xf32, #rd> {
  %0 = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> ((b + j) floordiv 2)>, affine_map<(b, i, j) -> (b, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t : tensor<?xf32>) outs(%x : tensor<?x?x4xf32, #rd>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?x?x4xf32, #rd>
  return %0 : tensor<?x?x4xf32, #rd>
}

// A forall over the second batch dim only could not tell the parts of its iterations apart.
// CHECK-LABEL: func.func @second_batch
// CHECK-NOT: scf.forall
// CHECK: return
func.func @second_batch(%x: tensor<?x?x?xf32, #dd>, %t: tensor<?xf32>) -> tensor<?x?x?xf32, #dd> {
  %0 = linalg.generic {indexing_maps = [affine_map<(b, c, i) -> (b + 1)>, affine_map<(b, c, i) -> (b, c, i)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t : tensor<?xf32>) outs(%x : tensor<?x?x?xf32, #dd>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?x?x?xf32, #dd>
  return %0 : tensor<?x?x?xf32, #dd>
}
