// RUN: ragged-opt %s --ragged-insert-checks | FileCheck %s
// RUN: ragged-opt %s --pass-pipeline='builtin.module(ragged-insert-checks{dense=false})' | FileCheck %s --check-prefix=TRUST

// TRUST-NOT: ragged.assert_valid

// Dense operands of one loop have one extent.
// CHECK-LABEL: func.func @sum
// CHECK-SAME: (%[[A:.*]]: tensor<?xf32>, %[[B:.*]]: tensor<?xf32>)
// CHECK-DAG: %[[M:.*]] = tensor.dim %[[A]], %{{.*}} : tensor<?xf32>
// CHECK-DAG: %[[N:.*]] = tensor.dim %[[B]], %{{.*}} : tensor<?xf32>
// CHECK: ragged.assert_valid %[[N]], %[[M]] {kind = "equal", level = 0, op = "arith.addf"}
// CHECK: arith.addf
func.func @sum(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.addf %a, %b : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func.func @one_extent
// CHECK-NOT: ragged.assert_valid
// CHECK: return
func.func @one_extent(%a: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.addf %a, %a : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func.func @slice
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32>, %[[K:.*]]: index, %[[SIZE:.*]]: index)
// CHECK-DAG: %[[END:.*]] = arith.addi %[[K]], %[[SIZE]] : index
// CHECK-DAG: %[[N:.*]] = tensor.dim %[[X]]
// CHECK: ragged.assert_valid %[[K]], %[[END]], %[[N]] {kind = "range", level = 0, op = "tensor.extract_slice"}
// CHECK-NOT: ragged.assert_valid
// CHECK: tensor.extract_slice
func.func @slice(%x: tensor<?x8xf32>, %k: index, %size: index) -> tensor<?x4xf32> {
  %0 = tensor.extract_slice %x[%k, 2] [%size, 4] [1, 1] : tensor<?x8xf32> to tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @strided
// CHECK-SAME: (%{{.*}}: tensor<?xf32>, %[[K:.*]]: index, %[[SIZE:.*]]: index, %[[S:.*]]: index)
// CHECK: ragged.assert_valid %[[S]] {factor = 1, kind = "at_least"
// CHECK: ragged.assert_valid %[[K]], %[[N:.*]], %[[N]] {kind = "range"
// CHECK: %[[REST:.*]] = arith.subi %[[N]], %[[K]]
// CHECK: %[[MOST:.*]] = arith.ceildivui %[[REST]], %[[S]]
// CHECK: ragged.assert_valid %{{.*}}, %[[SIZE]], %[[MOST]] {kind = "range"
func.func @strided(%x: tensor<?xf32>, %k: index, %size: index, %s: index) -> tensor<?xf32> {
  %0 = tensor.extract_slice %x[%k] [%size] [%s] : tensor<?xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}

// What is inserted has the size of its place; a dim that it lacks has size 1.
// CHECK-LABEL: func.func @insert
// CHECK-SAME: (%[[ROW:.*]]: tensor<?xf32>, %[[INTO:.*]]: tensor<?x?xf32>, %[[K:.*]]: index, %[[SIZE:.*]]: index)
// CHECK: kind = "index", level = 0, op = "tensor.insert_slice"
// CHECK: kind = "range", level = 1, op = "tensor.insert_slice"
// CHECK: %[[N:.*]] = tensor.dim %[[ROW]]
// CHECK: ragged.assert_valid %[[N]], %[[SIZE]] {kind = "equal", level = 0
func.func @insert(%row: tensor<?xf32>, %into: tensor<?x?xf32>, %k: index, %size: index) -> tensor<?x?xf32> {
  %0 = tensor.insert_slice %row into %into[%k, 0] [1, %size] [1, 1] : tensor<?xf32> into tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// A loop's terminator holds insertions alone: their checks stand before it.
// CHECK-LABEL: func.func @parallel
// CHECK: scf.forall
// CHECK: kind = "range", level = 0, op = "tensor.parallel_insert_slice"
// CHECK: scf.forall.in_parallel
// CHECK-NOT: ragged.assert_valid
func.func @parallel(%x: tensor<4xf32>, %n: index, %out: tensor<?xf32>) -> tensor<?xf32> {
  %0 = scf.forall (%i) in (%n) shared_outs(%o = %out) -> (tensor<?xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %x into %o[%i] [4] [1] : tensor<4xf32> into tensor<?xf32>
    }
  }
  return %0 : tensor<?xf32>
}

// The largest index of a body is found before its loops run.
// CHECK-LABEL: func.func @gather
// CHECK-SAME: (%[[TABLE:.*]]: tensor<?xf32>, %[[IDS:.*]]: tensor<?xi32>
// CHECK: %[[LARGEST:.*]]:2 = linalg.generic {{.*}} ins(%[[IDS]]
// CHECK: arith.maxui
// CHECK: tensor.extract %[[LARGEST]]#0[]
// CHECK: ragged.assert_valid %{{.*}} {kind = "index", level = 0, op = "tensor.extract"}
// CHECK: linalg.map
func.func @gather(%table: tensor<?xf32>, %ids: tensor<?xi32>, %out: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.map ins(%ids : tensor<?xi32>) outs(%out : tensor<?xf32>) (%id: i32, %o: f32) {
    %k = arith.index_cast %id : i32 to index
    %v = tensor.extract %table[%k] : tensor<?xf32>
    linalg.yield %v : f32
  }
  return %0 : tensor<?xf32>
}

// An index of a loop up to the extent is inside, also of what each iteration passes on.
// CHECK-LABEL: func.func @running_sum
// CHECK-NOT: ragged.assert_valid
// CHECK: return
func.func @running_sum(%x: tensor<?xf32>, %zero: f32) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %y:2 = scf.for %i = %c0 to %n step %c1 iter_args(%out = %e, %sum = %zero) -> (tensor<?xf32>, f32) {
    %a = tensor.extract %x[%i] : tensor<?xf32>
    %s = arith.addf %sum, %a : f32
    %next = tensor.insert %s into %out[%i] : tensor<?xf32>
    scf.yield %next, %s : tensor<?xf32>, f32
  }
  return %y#0 : tensor<?xf32>
}

// A bound from elsewhere, and a loop that passes on something else, are checked.
// CHECK-LABEL: func.func @other_bounds
// CHECK: scf.for
// CHECK: ragged.assert_valid %{{.*}} {kind = "index", level = 0, op = "tensor.extract"}
// CHECK: scf.for
// CHECK: ragged.assert_valid %{{.*}} {kind = "index", level = 0, op = "tensor.extract"}
func.func @other_bounds(%x: tensor<?xf32>, %m: index, %other: tensor<?xf32>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %0 = scf.for %i = %c0 to %m step %c1 iter_args(%s = %zero) -> (f32) {
    %a = tensor.extract %x[%i] : tensor<?xf32>
    scf.yield %a : f32
  }
  %1:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x, %s = %zero) -> (tensor<?xf32>, f32) {
    %a = tensor.extract %t[%i] : tensor<?xf32>
    scf.yield %other, %a : tensor<?xf32>, f32
  }
  return %0, %1#1 : f32, f32
}

// Extents of what is made are not negative, and loops come to an end.
// CHECK-LABEL: func.func @made
// CHECK-SAME: (%[[N:.*]]: index, %[[S:.*]]: i32, %{{.*}}: tensor<?xf32>)
// CHECK: ragged.assert_valid %[[N]] {factor = 0, kind = "at_least", level = 1, op = "tensor.empty"}
// CHECK: %[[STEP:.*]] = arith.index_cast %[[S]] : i32 to index
// CHECK: ragged.assert_valid %[[STEP]] {factor = 1, kind = "at_least", level = 0, op = "scf.for"}
// CHECK: ragged.assert_valid %c0{{.*}}, %[[STEP]], %c2147483638{{.*}} {kind = "range", level = 0, op = "scf.for"}
// CHECK-NOT: ragged.assert_valid
// CHECK: return
func.func @made(%n: index, %s: i32, %x: tensor<?xf32>) -> (tensor<4x?xf32>, tensor<?xf32>, i32) {
  %c0 = arith.constant 0 : index
  %i0 = arith.constant 0 : i32
  %i9 = arith.constant 9 : i32
  %size = tensor.dim %x, %c0 : tensor<?xf32>
  %a = tensor.empty(%n) : tensor<4x?xf32>
  %b = tensor.empty(%size) : tensor<?xf32>
  %c = scf.for %i = %i0 to %i9 step %s iter_args(%sum = %i0) -> (i32) : i32 {
    %next = arith.addi %sum, %i : i32
    scf.yield %next : i32
  }
  return %a, %b, %c : tensor<4x?xf32>, tensor<?xf32>, i32
}

// The least step of all elements, and the largest beside the largest bound.
// CHECK-LABEL: func.func @steps
// CHECK: %[[LEAST:.*]]:3 = linalg.generic
// CHECK: arith.minsi
// CHECK: %[[ONE:.*]] = tensor.extract %[[LEAST]]#0[]
// CHECK: %[[STEP:.*]] = arith.index_cast %[[ONE]]
// CHECK: ragged.assert_valid %[[STEP]] {factor = 1, kind = "at_least", level = 0, op = "scf.for"}
// CHECK: linalg.map
func.func @steps(%x: tensor<?xindex>) -> tensor<?xindex> {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %r = linalg.map ins(%x : tensor<?xindex>) outs(%x : tensor<?xindex>) (%a: index, %o: index) {
    %sum = scf.for %i = %c0 to %c9 step %a iter_args(%s = %c0) -> index {
      %next = arith.addi %s, %i : index
      scf.yield %next : index
    }
    linalg.yield %sum : index
  }
  return %r : tensor<?xindex>
}

// What generates a tensor is a loop, whose body is checked as others.
// CHECK-LABEL: func.func @generated
// CHECK-SAME: (%[[T:.*]]: tensor<?xi64>, %[[N:.*]]: index)
// CHECK: ragged.assert_valid %[[N]] {factor = 0, kind = "at_least", level = 0, op = "tensor.generate"}
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]
// CHECK: ragged.assert_valid {{.*}}kind = "index", level = 0, op = "tensor.extract"}
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]
// CHECK: tensor.extract %[[T]]
// CHECK-NOT: tensor.generate
// CHECK: return
func.func @generated(%t: tensor<?xi64>, %n: index) -> tensor<?xi64> {
  %g = tensor.generate %n {
  ^bb0(%k: index):
    %w = tensor.extract %t[%k] : tensor<?xi64>
    tensor.yield %w : i64
  } : tensor<?xi64>
  return %g : tensor<?xi64>
}
