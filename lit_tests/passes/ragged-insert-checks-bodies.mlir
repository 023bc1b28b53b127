// RUN: ragged-opt %s --ragged-insert-checks | FileCheck %s

// A place that a loop carries: the loop runs before, reads nothing outside, and keeps the largest place. One check for
// all elements.
// CHECK-LABEL: func.func @search
// CHECK-SAME: (%{{.*}}: tensor<?xindex>, %[[W:.*]]: tensor<?xindex>,
// CHECK: %[[N:.*]] = tensor.dim %[[W]]
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]
// CHECK: scf.for {{.*}} iter_args(%[[AT:.*]] = %{{.*}}, %[[LARGEST:.*]] = %{{.*}}, %[[SOME:.*]] = %{{.*}}) -> (index, i64, i64)
// CHECK: %[[I:.*]] = arith.index_cast %[[AT]] : index to i64
// CHECK: %[[NEXT:.*]] = arith.maxui %[[LARGEST]], %[[I]] : i64
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[AT]], %[[N]] : index
// CHECK: %[[READ:.*]] = scf.if %[[INSIDE]] -> (index) {
// CHECK: tensor.extract %[[W]][%[[AT]]]
// CHECK: scf.yield %[[READ]], %[[NEXT]], %{{.*}} : index, i64, i64
// CHECK: ragged.assert_valid {{.*}} {kind = "index", level = 0, op = "tensor.extract"}
// CHECK-NOT: ragged.assert_valid
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]
func.func @search(%x: tensor<?xindex>, %w: tensor<?xindex>, %e: tensor<?xindex>) -> tensor<?xindex> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xindex>) outs(%e : tensor<?xindex>) {
  ^bb0(%i: index, %o: index):
    %found = scf.for %k = %c0 to %c9 step %c1 iter_args(%at = %i) -> (index) {
      %next = tensor.extract %w[%at] : tensor<?xindex>
      scf.yield %next : index
    }
    linalg.yield %found : index
  } -> tensor<?xindex>
  return %0 : tensor<?xindex>
}

// The state of an automaton: the reduction is made before, too.
// CHECK-LABEL: func.func @automaton
// CHECK: %[[R:.*]]:4 = linalg.generic {{.*}}iterator_types = ["reduction"]
// CHECK: arith.cmpi ult
// CHECK: arith.cmpi ult
// CHECK: %[[ROW:.*]] = arith.select
// CHECK: %[[COLUMN:.*]] = arith.select
// CHECK: tensor.extract %{{.*}}[%[[ROW]], %[[COLUMN]]] : tensor<4x2xindex>
// CHECK: ragged.assert_valid {{.*}} {kind = "index", level = 0, op = "tensor.extract"}
// CHECK: ragged.assert_valid {{.*}} {kind = "index", level = 1, op = "tensor.extract"}
func.func @automaton(%x: tensor<?xindex>, %next: tensor<4x2xindex>, %s: tensor<index>) -> tensor<index> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<?xindex>) outs(%s : tensor<index>) {
  ^bb0(%i: index, %state: index):
    %n = tensor.extract %next[%state, %i] : tensor<4x2xindex>
    linalg.yield %n : index
  } -> tensor<index>
  return %0 : tensor<index>
}

// A condition on what there is so far.
// CHECK-LABEL: func.func @while_positive
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]
// CHECK: arith.cmpf ogt
// CHECK: ragged.assert_valid {{.*}} {kind = "index", level = 0, op = "tensor.extract"}
func.func @while_positive(%w: tensor<?xf32>, %i: index, %x: tensor<?xf32>, %s: tensor<f32>) -> tensor<f32> {
  %z = arith.constant 0.0 : f32
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<?xf32>) outs(%s : tensor<f32>) {
  ^bb0(%a: f32, %sum: f32):
    %p = arith.cmpf ogt, %sum, %z : f32
    %v = scf.if %p -> (f32) {
      %e = tensor.extract %w[%i] : tensor<?xf32>
      scf.yield %e : f32
    } else {
      scf.yield %a : f32
    }
    linalg.yield %v : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// A bound that a loop carries.
// CHECK-LABEL: func.func @growing
// CHECK: linalg.generic
// CHECK: scf.for
// CHECK: scf.for
// CHECK: ragged.assert_valid {{.*}} {kind = "index", level = 0, op = "tensor.extract"}
func.func @growing(%w: tensor<?xindex>, %x: tensor<?xindex>) -> tensor<?xindex> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%x : tensor<?xindex>) {
  ^bb0(%a: index):
    %found = scf.for %k = %c0 to %c2 step %c1 iter_args(%bound = %a) -> (index) {
      %sum = scf.for %j = %c0 to %bound step %c1 iter_args(%s = %c0) -> (index) {
        %e = tensor.extract %w[%j] : tensor<?xindex>
        %t = arith.addi %s, %e : index
        scf.yield %t : index
      }
      scf.yield %sum : index
    }
    linalg.yield %found : index
  } -> tensor<?xindex>
  return %0 : tensor<?xindex>
}

// All that is asked of a body is found at once.
// CHECK-LABEL: func.func @links
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: ragged.assert_valid {{.*}} {kind = "index", level = 0, op = "tensor.extract"}
// CHECK: ragged.assert_valid {{.*}} {kind = "index", level = 0, op = "tensor.extract"}
// CHECK: linalg.map
func.func @links(%x: tensor<?xindex>, %t: tensor<?xindex>) -> tensor<?xindex> {
  %r = linalg.map ins(%x : tensor<?xindex>) outs(%x : tensor<?xindex>) (%a: index, %o: index) {
    %b = tensor.extract %t[%a] : tensor<?xindex>
    %c = tensor.extract %t[%b] : tensor<?xindex>
    linalg.yield %c : index
  }
  return %r : tensor<?xindex>
}
