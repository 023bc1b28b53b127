// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize --cse | FileCheck %s

// Ops that read a view of what a forall makes: in the same forall where its indices mean the same in the view.

#pairs = #ragged.layout<"dr|dr">
#half = #ragged.layout<"dr|d">
#deep = #ragged.layout<"drr">
#flat = #ragged.layout<"dr">
#all = affine_map<(b, i, c, j) -> (b, i, c, j)>
#each = affine_map<(b, i, c, j) -> (b, c)>
#levels = affine_map<(b, i, j) -> (b, i, j)>
#outer = affine_map<(b, i, j) -> (b)>

// The components of the second axis are gone in the merged value, which has a row at their place.
// CHECK-LABEL: func.func @merged_components
// CHECK: %[[Y:.*]] = scf.forall (%{{.*}}, %{{.*}}) in
// CHECK: scf.forall.in_parallel
// CHECK: linalg.generic {{.*}} ins(%[[Y]] :
// CHECK: math.exp
func.func @merged_components(%x: tensor<?x?x?x?xf32, #pairs>, %bias: tensor<?x?xf32>) -> tensor<?x?x?xf32, #half> {
  %e = ragged.empty %x : (tensor<?x?x?x?xf32, #pairs>) -> tensor<?x?x?x?xf32, #pairs>
  %y = linalg.generic {indexing_maps = [#all, #each, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %bias : tensor<?x?x?x?xf32, #pairs>, tensor<?x?xf32>) outs(%e : tensor<?x?x?x?xf32, #pairs>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?x?x?x?xf32, #pairs>
  %m = ragged.merge %y {dim = 2} : (tensor<?x?x?x?xf32, #pairs>) -> tensor<?x?x?xf32, #half>
  %r = math.exp %m : tensor<?x?x?xf32, #half>
  return %r : tensor<?x?x?xf32, #half>
}

// Levels below the forall's may be merged.
// CHECK-LABEL: func.func @merged_levels
// CHECK: scf.forall (%{{.*}}) in
// CHECK: arith.addf
// CHECK: math.exp
// CHECK: scf.forall.in_parallel
// CHECK-NOT: linalg.generic
func.func @merged_levels(%x: tensor<?x?x?xf32, #deep>, %bias: tensor<?xf32>) -> tensor<?x?xf32, #flat> {
  %e = ragged.empty %x : (tensor<?x?x?xf32, #deep>) -> tensor<?x?x?xf32, #deep>
  %y = linalg.generic {indexing_maps = [#levels, #outer, #levels], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %bias : tensor<?x?x?xf32, #deep>, tensor<?xf32>) outs(%e : tensor<?x?x?xf32, #deep>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?x?x?xf32, #deep>
  %m = ragged.merge %y {dim = 1} : (tensor<?x?x?xf32, #deep>) -> tensor<?x?xf32, #flat>
  %r = math.exp %m : tensor<?x?xf32, #flat>
  return %r : tensor<?x?xf32, #flat>
}
