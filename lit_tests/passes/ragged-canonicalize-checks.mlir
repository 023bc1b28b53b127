// RUN: ragged-opt %s --ragged-canonicalize | FileCheck %s

// Checks come behind what they check, over computations, in their order.
// CHECK-LABEL: func.func @raised
// CHECK: tensor.dim
// CHECK: ragged.assert_valid {{.*}} {kind = "equal"
// CHECK-NEXT: %[[V:.*]] = linalg.fill
// CHECK-NEXT: ragged.assert_valid %[[V]], %{{.*}} {kind = "offsets"
// CHECK-NEXT: linalg.exp
// CHECK-NEXT: linalg.exp
func.func @raised(%x: tensor<?x8xf32>, %o: tensor<?xi64>, %y: tensor<?x8xf32>, %k: i64) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %v = linalg.fill ins(%k : i64) outs(%o : tensor<?xi64>) -> tensor<?xi64>
  %e = linalg.exp ins(%x : tensor<?x8xf32>) outs(%x : tensor<?x8xf32>) -> tensor<?x8xf32>
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %m = tensor.dim %y, %c0 : tensor<?x8xf32>
  ragged.assert_valid %m, %n {kind = "equal", op = "f", level = 0} : (index, index) -> ()
  %g = linalg.exp ins(%e : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  ragged.assert_valid %v, %m {kind = "offsets", op = "f", level = 1} : (tensor<?xi64>, index) -> ()
  return %g : tensor<?x8xf32>
}

// Not over what has effects.
// CHECK-LABEL: func.func @effects
// CHECK: call @other
// CHECK-NEXT: ragged.assert_valid
// CHECK-NEXT: linalg.exp
// CHECK-NEXT: scf.if
// CHECK: }
// CHECK-NEXT: ragged.assert_valid
// CHECK-NEXT: linalg.exp
func.func @effects(%x: tensor<?x8xf32>, %o: tensor<?xi64>, %n: index, %b: i1) -> tensor<?x8xf32> {
  call @other() : () -> ()
  %e = linalg.exp ins(%x : tensor<?x8xf32>) outs(%x : tensor<?x8xf32>) -> tensor<?x8xf32>
  ragged.assert_valid %o, %n {kind = "offsets", op = "f", level = 1} : (tensor<?xi64>, index) -> ()
  scf.if %b {
    func.call @other() : () -> ()
  }
  %f = linalg.exp ins(%e : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  ragged.assert_valid %o, %n {kind = "offsets", op = "g", level = 1} : (tensor<?xi64>, index) -> ()
  return %f : tensor<?x8xf32>
}
func.func private @other()
