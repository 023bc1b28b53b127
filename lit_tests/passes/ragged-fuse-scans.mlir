// RUN: ragged-opt %s --expand-ragged-scans --ragged-fuse --canonicalize --cse | FileCheck %s

!rows = tensor<3x?x8xf32, #ragged.layout<"dr|d">>
!short = tensor<3x?xf32, #ragged.layout<"dr">>
!half = tensor<3x?xf16, #ragged.layout<"dr">>

#id = affine_map<(b, i) -> (b, i)>

// What becomes of the elements of a scan is computed where they are stored.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<3x?x8xf32, #ragged.layout<"dr|d">>)
// CHECK: %[[R:.*]]:2 = linalg.generic
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[S:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[T:.*]] = arith.addf %[[S]], %[[A]] fastmath<reassoc> : f32
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[T]], %[[A]] : f32
// CHECK-NEXT: linalg.yield %[[T]], %[[P]] : f32, f32
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]]#1
func.func @rows(%x: !rows) -> !rows {
  %s = ragged.scan %x {dim = 1, kind = "sum"} : (!rows) -> !rows
  %y = arith.mulf %s, %x : !rows
  return %y : !rows
}

// Also twice, of a scan of something, backwards.
// CHECK-LABEL: func.func @chain
// CHECK: %[[R:.*]]:2 = linalg.generic {{.*}} attrs = {ragged.backwards = 1 : i64}
// CHECK: math.absf
// CHECK-NEXT: arith.addf
// CHECK-NEXT: math.exp
// CHECK-NEXT: arith.mulf
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]]#1
func.func @chain(%x: !rows) -> !rows {
  %n = math.absf %x : !rows
  %s = ragged.scan %n {dim = 1, kind = "sum", reverse} : (!rows) -> !rows
  %e = math.exp %s : !rows
  %y = arith.mulf %e, %x : !rows
  return %y : !rows
}

// Scans of single elements have loops of scalars: what follows is faster by itself.
// CHECK-LABEL: func.func @single
// CHECK: linalg.generic
// CHECK: arith.mulf %{{.*}} : tensor<
func.func @single(%x: !short) -> !short {
  %s = ragged.scan %x {dim = 1, kind = "sum"} : (!short) -> !short
  %y = arith.mulf %s, %x : !short
  return %y : !short
}

// But roundings are not.
// CHECK-LABEL: func.func @rounded
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK-NEXT: arith.truncf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @rounded(%x: !short, %like: !half) -> !half {
  %s = ragged.scan %x {dim = 1, kind = "sum"} : (!short) -> !short
  %e = ragged.empty %like : (!half) -> !half
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : !short) outs(%e : !half) {
  ^bb0(%a: f32, %out: f16):
    %0 = arith.truncf %a : f32 to f16
    linalg.yield %0 : f16
  } -> !half
  return %y : !half
}

// What something else reads too is stored.
// CHECK-LABEL: func.func @both
// CHECK: linalg.generic
// CHECK: arith.mulf %{{.*}} : tensor<
func.func @both(%x: !rows) -> (!rows, !rows) {
  %s = ragged.scan %x {dim = 1, kind = "sum"} : (!rows) -> !rows
  %y = arith.mulf %s, %x : !rows
  return %s, %y : !rows, !rows
}

// A function of single elements runs on vectors in a loop of its own, a product in that of the scan.

// CHECK-LABEL: func.func @function_before
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]}
// CHECK: math.exp
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]}
// CHECK-NOT: math.exp
// CHECK: return
func.func @function_before(%x: !short) -> !short {
  %e = math.exp %x : !short
  %m = arith.mulf %e, %x : !short
  %s = ragged.scan %m {dim = 1, kind = "sum"} : (!short) -> !short
  return %s : !short
}

// CHECK-LABEL: func.func @product_before
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]}
// CHECK: arith.mulf
// CHECK: arith.addf
func.func @product_before(%x: !short) -> !short {
  %m = arith.mulf %x, %x : !short
  %s = ragged.scan %m {dim = 1, kind = "sum"} : (!short) -> !short
  return %s : !short
}

// Of rows the loop of the scan runs on vectors.

// CHECK-LABEL: func.func @function_of_rows
// CHECK-NOT: iterator_types = ["parallel", "parallel"
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK: math.exp
func.func @function_of_rows(%x: !rows) -> !rows {
  %e = math.exp %x : !rows
  %s = ragged.scan %e {dim = 1, kind = "sum"} : (!rows) -> !rows
  return %s : !rows
}

// A recurrence waits for the step before: what follows is computed beside it, and what is carried is not computed twice.

// CHECK-LABEL: func.func @recurrence
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]}
// CHECK: %[[M:.*]] = arith.mulf
// CHECK-NEXT: %[[T:.*]] = arith.addf %[[M]]
// CHECK-NEXT: %[[N:.*]] = arith.select %{{.*}}, %{{.*}}, %[[T]] : f32
// CHECK-NEXT: linalg.yield %[[N]], %[[T]] : f32, f32
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @recurrence(%x: !short, %f: !short) -> !short {
  %before = ragged.recurrence %x, %f {dim = 1} : (!short, !short) -> !short
  %m = arith.mulf %before, %f : !short
  %y = arith.addf %m, %x : !short
  return %y : !short
}
