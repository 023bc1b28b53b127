// RUN: ragged-opt %s --unshare-ragged-empties | FileCheck %s

// CHECK-LABEL: func.func @two_outs
// CHECK: %[[A:.*]] = tensor.empty(%{{.*}})
// CHECK-NEXT: %[[B:.*]] = tensor.empty(%{{.*}})
// CHECK-NEXT: scf.forall {{.*}} shared_outs(%{{.*}} = %[[A]], %{{.*}} = %[[B]])
func.func @two_outs(%n: index, %x: tensor<1xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %e = tensor.empty(%n) : tensor<?xf32>
  %0:2 = scf.forall (%i) in (%n) shared_outs(%a = %e, %b = %e) -> (tensor<?xf32>, tensor<?xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %x into %a[%i] [1] [1] : tensor<1xf32> into tensor<?xf32>
      tensor.parallel_insert_slice %x into %b[%i] [1] [1] : tensor<1xf32> into tensor<?xf32>
    }
  }
  return %0#0, %0#1 : tensor<?xf32>, tensor<?xf32>
}

// One use keeps its tensor.
// CHECK-LABEL: func.func @one_use
// CHECK: tensor.empty
// CHECK-NEXT: linalg.fill
func.func @one_use(%n: index, %x: f32) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.fill ins(%x : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// Where one element is inserted the others are undefined still: two users get two.
// CHECK-LABEL: func.func @offsets
// CHECK: %[[A:.*]] = tensor.empty(%{{.*}})
// CHECK-NEXT: %[[B:.*]] = tensor.empty(%{{.*}})
// CHECK-NEXT: %[[SECOND:.*]] = tensor.insert %{{.*}} into %[[B]]
// CHECK-NEXT: %[[FIRST:.*]] = tensor.insert %{{.*}} into %[[A]]
// CHECK-NEXT: tensor.insert %{{.*}} into %[[SECOND]]
// CHECK-NEXT: tensor.insert %{{.*}} into %[[FIRST]]
func.func @offsets(%n: index, %i: index, %x: i64, %y: i64) -> (tensor<?xi64>, tensor<?xi64>) {
  %zero = arith.constant 0 : index
  %e = tensor.empty(%n) : tensor<?xi64>
  %s = tensor.insert %x into %e[%zero] : tensor<?xi64>
  %0 = tensor.insert %x into %s[%i] : tensor<?xi64>
  %1 = tensor.insert %y into %s[%i] : tensor<?xi64>
  return %0, %1 : tensor<?xi64>, tensor<?xi64>
}

// What others' elements are inserted into is a value.
// CHECK-LABEL: func.func @argument
// CHECK: tensor.insert
// CHECK-NEXT: return
func.func @argument(%i: index, %x: i64, %e: tensor<?xi64>) -> (tensor<?xi64>, tensor<?xi64>) {
  %s = tensor.insert %x into %e[%i] : tensor<?xi64>
  return %s, %s : tensor<?xi64>, tensor<?xi64>
}

// A fill that two ops add to is filled twice, not copied, before each; what is read keeps its own.
// CHECK-LABEL: func.func @fills
// CHECK: linalg.fill
// CHECK: %[[A:.*]] = linalg.fill
// CHECK: linalg.reduce {{.*}} outs(%[[A]]
// CHECK: %[[B:.*]] = linalg.fill
// CHECK: linalg.reduce {{.*}} outs(%[[B]]
func.func @fills(%n: index, %x: tensor<?x4xf32>, %zero: f32) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %0 = linalg.reduce {arith.addf} ins(%x : tensor<?x4xf32>) outs(%f : tensor<?xf32>) dimensions = [1]
  %1 = linalg.reduce {arith.maximumf} ins(%x : tensor<?x4xf32>) outs(%f : tensor<?xf32>) dimensions = [1]
  return %0, %1, %f : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}

// Fills are generic ops where products are; what nothing reads is not filled.
// CHECK-LABEL: func.func @generic_fills
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%{{.*}} : f32)
// CHECK: linalg.reduce {{.*}} outs(%[[A]]
// CHECK: %[[B:.*]] = linalg.generic {{.*}} ins(%{{.*}} : f32)
// CHECK: linalg.reduce {{.*}} outs(%[[B]]
func.func @generic_fills(%n: index, %x: tensor<?x4xf32>, %zero: f32) -> (tensor<?xf32>, tensor<?xf32>) {
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%zero : f32) outs(%e : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<?xf32>
  %0 = linalg.reduce {arith.addf} ins(%x : tensor<?x4xf32>) outs(%f : tensor<?xf32>) dimensions = [1]
  %1 = linalg.reduce {arith.maximumf} ins(%x : tensor<?x4xf32>) outs(%f : tensor<?xf32>) dimensions = [1]
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}
