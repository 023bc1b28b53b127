// RUN: ragged-opt %s --split-input-file "--ragged-differentiate=function=f arguments=0" | FileCheck %s

#jagged = #ragged.layout<"dr">

// A loop runs backwards; what its iterations read is stored before.
// CHECK-LABEL: func.func @f_vjp(
// CHECK: scf.for
// CHECK: %[[H:.*]]:2 = scf.for
// CHECK: tensor.insert_slice
// CHECK: scf.for
// CHECK: tensor.extract_slice %[[H]]#1
func.func @f(%x: tensor<3x?xf32, #jagged>, %n: index) -> tensor<3x?xf32, #jagged> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<3x?xf32, #jagged>) {
    %b = arith.mulf %a, %a : tensor<3x?xf32, #jagged>
    scf.yield %b : tensor<3x?xf32, #jagged>
  }
  return %y : tensor<3x?xf32, #jagged>
}

// -----

// Both branches are transposed; what they compute of is computed again.
// CHECK-LABEL: func.func @f_vjp(
// CHECK: scf.if
// CHECK: scf.if
// CHECK: math.cos
func.func @f(%x: tensor<?xf32>, %c: i1) -> tensor<?xf32> {
  %y = scf.if %c -> (tensor<?xf32>) {
    %a = math.sin %x : tensor<?xf32>
    scf.yield %a : tensor<?xf32>
  } else {
    scf.yield %x : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

// A call is what its callee does.
// CHECK-LABEL: func.func @f_vjp(
// CHECK: math.cos
func.func private @g(%x: tensor<?xf32>) -> tensor<?xf32> {
  %a = math.sin %x : tensor<?xf32>
  return %a : tensor<?xf32>
}
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = func.call @g(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// Running sums are transposed to those from the other end, in as many passes: no history, and nothing is scattered.
// CHECK-LABEL: func.func @f_vjp(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x?x2xf32, #{{.*}}>, %[[N:[^:]*]]: index, %[[C:[^:]*]]: tensor<3x?x2xf32
// CHECK: %[[COUNTS:.*]] = linalg.generic {{.*}}"reduction"
// CHECK: arith.addi %{{.*}} : i64
// CHECK: %[[G:.*]] = scf.for %[[K:.*]] = %{{.*}} to %[[N]] {{.*}} iter_args(%[[A:.*]] = %[[C]])
// CHECK: %[[FAR:.*]] = arith.shli %{{.*}}, %[[K]]
// CHECK: linalg.generic {{.*}} ins(%[[A]], %[[COUNTS]] :
// CHECK: arith.addi %{{.*}}, %[[FAR]]
// CHECK: arith.cmpi slt
// CHECK: tensor.extract %[[A]]
// CHECK: arith.addf
// CHECK: } {ragged.running}
// CHECK-NOT: tensor.insert
// CHECK: return %[[G]]
#rows = #ragged.layout<"dr|d">
#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func @f(%x: tensor<3x?x2xf32, #rows>, %passes: index) -> tensor<3x?x2xf32, #rows> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %k = %c0 to %passes step %c1 iter_args(%z = %x) -> (tensor<3x?x2xf32, #rows>) {
    %far = arith.shli %c1, %k : index
    %e = ragged.empty %x : (tensor<3x?x2xf32, #rows>) -> tensor<3x?x2xf32, #rows>
    %next = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%z : tensor<3x?x2xf32, #rows>) outs(%e : tensor<3x?x2xf32, #rows>) {
    ^bb0(%a: f32, %o: f32):
      %b = linalg.index 0 : index
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %there = arith.cmpi sge, %i, %far : index
      %before = arith.subi %i, %far : index
      %at = arith.select %there, %before, %i : index
      %p = tensor.extract %z[%b, %at, %j] : tensor<3x?x2xf32, #rows>
      %s = arith.addf %p, %a : f32
      %r = arith.select %there, %s, %a : f32
      linalg.yield %r : f32
    } -> tensor<3x?x2xf32, #rows>
    scf.yield %next : tensor<3x?x2xf32, #rows>
  } {ragged.running}
  return %y : tensor<3x?x2xf32, #rows>
}
