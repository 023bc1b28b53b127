// RUN: ragged-opt %s --keep-read-outs | FileCheck %s

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// Without iterations the result is what there was.
// CHECK-LABEL: func.func @last
// CHECK: ^bb0(%[[A:.*]]: f32, %[[O:.*]]: f32):
// CHECK: %[[I:.*]] = linalg.index 0 : index
// CHECK: %[[SOME:.*]] = arith.cmpi sge, %[[I]], %{{.*}} : index
// CHECK: %[[R:.*]] = arith.select %[[SOME]], %[[A]], %[[O]] : f32
// CHECK: linalg.yield %[[R]] : f32
func.func @last(%x: tensor<?xf32>, %s: tensor<f32>) -> tensor<f32> {
  %r = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<?xf32>) outs(%s : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}

// What is read, has no start, or has a result for each element, stays as it is.
// CHECK-LABEL: func.func @others
// CHECK-NOT: arith.select
// CHECK: return
func.func @others(%x: tensor<?xf32>, %s: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<?xf32>) {
  %e = tensor.empty() : tensor<f32>
  %0 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<?xf32>) outs(%s : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %sum = arith.addf %a, %o : f32
    linalg.yield %sum : f32
  } -> tensor<f32>
  %1 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<f32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%x : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<?xf32>
}

// A result for each iteration of what is a reduction for another one.
// CHECK-LABEL: func.func @beside
// CHECK-NOT: arith.select
// CHECK: return
func.func @beside(%x: tensor<?xf32>, %s: tensor<f32>) -> (tensor<?xf32>, tensor<f32>) {
  %0:2 = linalg.generic {indexing_maps = [#id, #id, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<?xf32>) outs(%x, %s : tensor<?xf32>, tensor<f32>) {
  ^bb0(%a: f32, %e: f32, %o: f32):
    %sum = arith.addf %a, %o : f32
    linalg.yield %a, %sum : f32, f32
  } -> (tensor<?xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<?xf32>, tensor<f32>
}

// CHECK-LABEL: func.func @map
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]
// CHECK: arith.addf
// CHECK: linalg.map
// CHECK: return
func.func @map(%x: tensor<?xf32>, %s: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = linalg.map ins(%x : tensor<?xf32>) outs(%s : tensor<?xf32>) (%a: f32, %o: f32) {
    %sum = arith.addf %a, %o : f32
    linalg.yield %sum : f32
  }
  %1 = linalg.map ins(%x : tensor<?xf32>) outs(%s : tensor<?xf32>) (%a: f32, %o: f32) {
    linalg.yield %a : f32
  }
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}
