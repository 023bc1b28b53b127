// RUN: ragged-opt %s --split-input-file --ragged-differentiate --ragged-rematerialize --ragged-insert-checks --ragged-canonicalize --ragged-check-conform --canonicalize --cse | FileCheck %s

!x = tensor<?x?x8xf32, #ragged.layout<"dr|d">>
!sums = tensor<?x8xf32>

// The backward of a maximum looks where it is, and takes it from the forward.
// CHECK-LABEL: func.func @max_kept(
// CHECK: %[[M:.*]] = linalg.reduce { arith.maximumf }
// CHECK: return %[[M]], %[[M]]
// CHECK-LABEL: func.func @max_vjp(
// CHECK-SAME: %[[X:.*]]: tensor<?x?x8xf32, #ragged.layout<"dr|d">>, %[[C:.*]]: tensor<?x8xf32>, %[[KEPT:.*]]: tensor<?x8xf32>)
// CHECK-NOT: maximumf
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[KEPT]] :
// CHECK: arith.minsi
func.func @max(%x: !x) -> !sums {
  %low = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %e = tensor.empty(%n) : !sums
  %i = linalg.fill ins(%low : f32) outs(%e : !sums) -> !sums
  %m = linalg.reduce { arith.maximumf } ins(%x : !x) outs(%i : !sums) dimensions = [1]
  return %m : !sums
}

// -----

#l = #ragged.layout<"dr|d|d">
!q = tensor<?x?x4x16xf32, #l>

// Attention keeps its results: the kernels of its cotangents compute no forward.
// CHECK-LABEL: func.func @attention_kept(
// CHECK: %[[O:.*]]:2 = ragged.attention
// CHECK: return %[[O]]#0, %[[O]]#0, %[[O]]#1
// CHECK-LABEL: func.func @attention_vjp(
// CHECK-SAME: %[[Q:.*]]: tensor<{{[^%]*}} %[[C:.*]]: tensor<{{[^%]*}} %[[KO:.*]]: tensor<{{[^%]*}} %[[KLSE:.*]]: tensor<
// CHECK-NOT: ragged.attention %
// CHECK: ragged.attention_vjp_q %[[Q]], %[[Q]], %[[Q]], %[[KLSE]], %[[C]]
func.func @attention(%q: !q) -> !q {
  %o, %lse = ragged.attention %q, %q, %q {scale = 2.500000e-01}
       : (!q, !q, !q) -> (!q, tensor<?x?x4xf32, #ragged.layout<"dr|d">>)
  return %o : !q
}

// -----

#id = affine_map<(b, i, d) -> (b, i, d)>
#lhs = affine_map<(b, i, n, k) -> (b, i, k)>
#rhs = affine_map<(b, i, n, k) -> (k, n)>
#out = affine_map<(b, i, n, k) -> (b, i, n)>
!x = tensor<?x?x8xf32, #ragged.layout<"dr|d">>

// The derivative of a tanh is computed of its result, which is there. The product is not needed.
// CHECK-LABEL: func.func @layer_kept(
// CHECK: %[[R:.*]] = math.tanh
// CHECK: return %[[R]], %[[R]]
// CHECK-LABEL: func.func @layer_vjp(
// CHECK-SAME: %[[X:.*]]: tensor<{{[^%]*}} %[[W:.*]]: tensor<8x8xf32>, %[[C:.*]]: tensor<{{[^%]*}} %[[R:.*]]: tensor<
// CHECK-NOT: math.tanh
// CHECK: arith.mulf %[[R]], %[[R]]
func.func @layer(%x: !x, %w: tensor<8x8xf32>) -> !x {
  %zero = arith.constant 0.0 : f32
  %e = ragged.empty %x : (!x) -> !x
  %i = linalg.fill ins(%zero : f32) outs(%e : !x) -> !x
  %y = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : !x, tensor<8x8xf32>) outs(%i : !x) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> !x
  %r = math.tanh %y : !x
  return %r : !x
}

// -----

!x = tensor<?x?x8xf32, #ragged.layout<"dr|d">>

// What no reduction is in keeps nothing.
// CHECK-LABEL: func.func @exp_kept(
// CHECK: %[[Y:.*]] = math.exp
// CHECK-NEXT: return %[[Y]] :
// CHECK-LABEL: func.func @exp_vjp(
// CHECK: math.exp
func.func @exp(%x: !x) -> !x {
  %y = math.exp %x : !x
  return %y : !x
}

// -----

#id = affine_map<(b, i, d) -> (b, i, d)>
#lhs = affine_map<(b, i, n, k) -> (b, i, k)>
#rhs = affine_map<(b, i, n, k) -> (k, n)>
#out = affine_map<(b, i, n, k) -> (b, i, n)>
!x = tensor<?x?x8xf32, #ragged.layout<"dr|d">>
!mask = tensor<?x?x8xi1, #ragged.layout<"dr|d">>

// Of a product of which only the sign is read a byte is kept for each number.
// CHECK-LABEL: func.func @relu_kept(
// CHECK: %[[Y:.*]] = linalg.generic
// CHECK: %[[M:.*]] = arith.cmpf ogt, %[[Y]]
// CHECK: return %{{.*}}, %[[M]]
// CHECK-LABEL: func.func @relu_vjp(
// CHECK-SAME: %[[M:[^:]*]]: tensor<?x?x8xi1, #ragged.layout<"dr|d">>) ->
// CHECK-NOT: arith.cmpf
// CHECK: arith.select %[[M]]
func.func @relu(%x: !x, %w: tensor<8x8xf32>, %scale: !x) -> !x {
  %zero = arith.constant 0.0 : f32
  %e = ragged.empty %x : (!x) -> !x
  %i = linalg.fill ins(%zero : f32) outs(%e : !x) -> !x
  %y = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : !x, tensor<8x8xf32>) outs(%i : !x) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> !x
  %m = arith.cmpf ogt, %y, %i : !x
  %r = arith.select %m, %y, %i : !mask, !x
  return %r : !x
}

// -----

!x = tensor<?x?x8xf32, #ragged.layout<"dr|d">>
!pairs = tensor<?x?x2xf32, #ragged.layout<"dr|d">>

// Of running sums of which a part is read the part is kept.
// CHECK-LABEL: func.func @part_kept(
// CHECK: %[[Y:.*]] = ragged.scan
// CHECK: %[[P:.*]] = ragged.slice %[[Y]]
// CHECK: return %{{.*}}, %[[P]]
// CHECK-LABEL: func.func @part_vjp(
// CHECK-SAME: %[[P:[^:]*]]: tensor<?x?x2xf32, #ragged.layout<"dr|d">>) ->
// CHECK: math.cos %[[P]]
func.func @part(%x: !x) -> !pairs {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %y = ragged.scan %x {dim = 1, kind = "sum"} : (!x) -> !x
  %p = ragged.slice %y, %c0, %c2 {dim = 2} : (!x, index, index) -> !pairs
  %z = math.sin %p : !pairs
  return %z : !pairs
}

// -----

// Ops without results are no values; what two equal ops compute is kept once.
// CHECK-LABEL: func.func @twice_kept(
// CHECK: %[[S:.*]] = linalg.reduce
// CHECK: return %{{.*}}, %[[S]] : tensor<f64>, tensor<f64>
// CHECK-LABEL: func.func @twice_vjp(
// CHECK-SAME: %[[S:[^:]*]]: tensor<f64>) -> tensor<?xf64>
// CHECK-NOT: linalg.reduce
// CHECK: math.cos %[[S]]
func.func @twice(%x: tensor<?xf64>) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f64
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %ok = arith.cmpi sgt, %n, %c0 : index
  %e = tensor.empty() : tensor<f64>
  %i = linalg.fill ins(%z : f64) outs(%e : tensor<f64>) -> tensor<f64>
  cf.assert %ok, "not empty"
  %s = linalg.reduce { arith.addf } ins(%x : tensor<?xf64>) outs(%i : tensor<f64>) dimensions = [0]
  %t = linalg.reduce { arith.addf } ins(%x : tensor<?xf64>) outs(%i : tensor<f64>) dimensions = [0]
  %y = math.sin %s : tensor<f64>
  %v = math.cos %t : tensor<f64>
  %w = arith.mulf %y, %v : tensor<f64>
  return %w : tensor<f64>
}

// -----

!c = tensor<?x?xcomplex<f32>, #ragged.layout<"dr">>
!f = tensor<?x?xf32, #ragged.layout<"dr">>

// Complex numbers are computed again: nothing says what it costs to keep them.
// CHECK-LABEL: func.func @absolute_kept(
// CHECK: return %{{.*}}, %{{.*}} : tensor<?xf32>, tensor<?xf32>
// CHECK-LABEL: func.func @absolute_vjp(
// CHECK: complex.exp
// CHECK: complex.abs
func.func @absolute(%x: !f, %c: !c, %i: tensor<?xf32>) -> tensor<?xf32> {
  %z = linalg.map { complex.exp } ins(%c : !c) outs(%c : !c)
  %w = linalg.map { complex.abs } ins(%z : !c) outs(%x : !f)
  %e = arith.mulf %x, %w : !f
  %s = linalg.reduce { arith.addf } ins(%e : !f) outs(%i : tensor<?xf32>) dimensions = [1]
  %r = arith.mulf %s, %s : tensor<?xf32>
  return %r : tensor<?xf32>
}
