// RUN: ragged-opt %s --convert-ragged-to-scf --canonicalize | FileCheck %s
// RUN: ragged-opt %s --convert-ragged-to-scf="rows=32" --canonicalize | FileCheck %s --check-prefix=ROWS

// Rows that are reduced join the loop over components that their elements are computed in, but for short ones, of which
// vectors have many at once.

!rows = tensor<3x?x8xf32, #ragged.layout<"dr|d">>
!each = tensor<3x?xf32, #ragged.layout<"dr">>

// CHECK-LABEL: func.func @f
// CHECK: scf.forall
// CHECK: arith.mulf
// CHECK: iterator_types = ["parallel", "reduction"]
// CHECK: scf.forall.in_parallel
// ROWS-LABEL: func.func @f
// ROWS: scf.forall
// ROWS: arith.mulf
// ROWS: scf.forall.in_parallel
// ROWS: iterator_types = ["parallel", "reduction"]
func.func @f(%x: !rows, %c: tensor<3xf32>, %zeros: !each) -> !each {
  %e = ragged.empty %x : (!rows) -> !rows
  %y = linalg.generic {indexing_maps = [affine_map<(b, i, f) -> (b, i, f)>, affine_map<(b, i, f) -> (b)>, affine_map<(b, i, f) -> (b, i, f)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %c : !rows, tensor<3xf32>) outs(%e : !rows) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> !rows
  %s = linalg.reduce { arith.addf } ins(%y : !rows) outs(%zeros : !each) dimensions = [2]
  return %s : !each
}

// A logarithm of the sum of each component is computed of many at once; one that elements need, in the component's loop.

// CHECK-LABEL: func.func @log
// CHECK: scf.forall
// CHECK: math.log
// CHECK: scf.forall.in_parallel
// CHECK: return
// ROWS-LABEL: func.func @log
// ROWS: scf.forall
// ROWS: scf.forall.in_parallel
// ROWS: math.log
// ROWS: return
func.func @log(%x: !each, %zeros: tensor<3xf32>) -> tensor<3xf32> {
  %s = linalg.reduce { arith.addf } ins(%x : !each) outs(%zeros : tensor<3xf32>) dimensions = [1]
  %l = linalg.generic {indexing_maps = [affine_map<(b) -> (b)>, affine_map<(b) -> (b)>], iterator_types = ["parallel"]}
      ins(%s : tensor<3xf32>) outs(%zeros : tensor<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = math.log %a : f32
    linalg.yield %m : f32
  } -> tensor<3xf32>
  return %l : tensor<3xf32>
}

// CHECK-LABEL: func.func @minus_log
// CHECK: scf.forall
// CHECK: math.log
// CHECK: arith.subf
// CHECK: scf.forall.in_parallel
// ROWS-LABEL: func.func @minus_log
// ROWS: scf.forall
// ROWS: math.log
// ROWS: arith.subf
// ROWS: scf.forall.in_parallel
// ROWS: return
func.func @minus_log(%x: !each, %zeros: tensor<3xf32>) -> !each {
  %s = linalg.reduce { arith.addf } ins(%x : !each) outs(%zeros : tensor<3xf32>) dimensions = [1]
  %l = linalg.generic {indexing_maps = [affine_map<(b) -> (b)>, affine_map<(b) -> (b)>], iterator_types = ["parallel"]}
      ins(%s : tensor<3xf32>) outs(%zeros : tensor<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = math.log %a : f32
    linalg.yield %m : f32
  } -> tensor<3xf32>
  %e = ragged.empty %x : (!each) -> !each
  %y = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b)>, affine_map<(b, i) -> (b, i)>],
      iterator_types = ["parallel", "parallel"]} ins(%x, %l : !each, tensor<3xf32>) outs(%e : !each) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.subf %a, %b : f32
    linalg.yield %m : f32
  } -> !each
  return %y : !each
}

// Long rows that are computed for what reduces components are computed in its loop, and need not come from memory twice;
// short ones of many components are side by side in vectors.

!long = tensor<3x?x64xf32, #ragged.layout<"dr|d">>

// CHECK-LABEL: func.func @long
// CHECK: math.exp
// CHECK: scf.forall
// CHECK: arith.maximumf
// CHECK: scf.forall.in_parallel
// ROWS-LABEL: func.func @long
// ROWS: scf.forall
// ROWS: math.exp
// ROWS: arith.maximumf
// ROWS: scf.forall.in_parallel
func.func @long(%x: !long, %least: tensor<3x64xf32>) -> tensor<3x64xf32> {
  %e = ragged.empty %x : (!long) -> !long
  %y = linalg.generic {indexing_maps = [affine_map<(b, i, f) -> (b, i, f)>, affine_map<(b, i, f) -> (b, i, f)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : !long) outs(%e : !long) {
  ^bb0(%a: f32, %o: f32):
    %m = math.exp %a : f32
    linalg.yield %m : f32
  } -> !long
  %s = linalg.reduce { arith.maximumf } ins(%y : !long) outs(%least : tensor<3x64xf32>) dimensions = [1]
  return %s : tensor<3x64xf32>
}

// CHECK-LABEL: func.func @short
// ROWS-LABEL: func.func @short
// ROWS: math.exp
// ROWS: scf.forall
// ROWS: arith.maximumf
func.func @short(%x: !rows, %least: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %e = ragged.empty %x : (!rows) -> !rows
  %y = linalg.generic {indexing_maps = [affine_map<(b, i, f) -> (b, i, f)>, affine_map<(b, i, f) -> (b, i, f)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : !rows) outs(%e : !rows) {
  ^bb0(%a: f32, %o: f32):
    %m = math.exp %a : f32
    linalg.yield %m : f32
  } -> !rows
  %s = linalg.reduce { arith.maximumf } ins(%y : !rows) outs(%least : tensor<3x8xf32>) dimensions = [1]
  return %s : tensor<3x8xf32>
}
