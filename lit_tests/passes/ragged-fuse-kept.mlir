// RUN: ragged-opt %s --ragged-fuse=max-ops=2 | FileCheck %s

// What stays as it is.

// Another use of the values: fusing would compute them twice.
// CHECK-LABEL: func.func @two_uses
// CHECK-NEXT: math.exp
// CHECK-NEXT: arith.negf
// CHECK-NEXT: return
func.func @two_uses(%x: tensor<3x?xf32, #ragged.layout<"dr">>) -> (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) {
  %e = math.exp %x : tensor<3x?xf32, #ragged.layout<"dr">>
  %f = arith.negf %e : tensor<3x?xf32, #ragged.layout<"dr">>
  return %e, %f : tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>
}

// The only operand that gives the reduced loop its lengths.
// CHECK-LABEL: func.func @lengths_from_a_fill
// CHECK: linalg.fill
// CHECK: linalg.reduce
func.func @lengths_from_a_fill(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %c: f32, %i: tensor<3xf32>) -> tensor<3xf32> {
  %o = ragged.empty %x : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %f = linalg.fill ins(%c : f32) outs(%o : tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %s = linalg.reduce { arith.addf } ins(%f : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%i : tensor<3xf32>) dimensions = [1]
  return %s : tensor<3xf32>
}

// Into a region: it would run once per iteration.
// CHECK-LABEL: func.func @region
// CHECK: math.exp
// CHECK: scf.for
// CHECK-NEXT: arith.addf
func.func @region(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %n: index) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = math.exp %x : tensor<3x?xf32, #ragged.layout<"dr">>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<3x?xf32, #ragged.layout<"dr">> {
    %b = arith.addf %a, %e : tensor<3x?xf32, #ragged.layout<"dr">>
    scf.yield %b : tensor<3x?xf32, #ragged.layout<"dr">>
  }
  return %r : tensor<3x?xf32, #ragged.layout<"dr">>
}

// More ops than a body may have: two and one.
// CHECK-LABEL: func.func @limit
// CHECK: linalg.generic
// CHECK: math.exp %{{.*}} : f32
// CHECK: math.sqrt %{{.*}} : f32
// CHECK: math.log %{{.*}} : tensor
func.func @limit(%x: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %a = math.exp %x : tensor<3x?xf32, #ragged.layout<"dr">>
  %b = math.sqrt %a : tensor<3x?xf32, #ragged.layout<"dr">>
  %c = math.log %b : tensor<3x?xf32, #ragged.layout<"dr">>
  return %c : tensor<3x?xf32, #ragged.layout<"dr">>
}

// The second needs the first.
// CHECK-LABEL: func.func @dependent
// CHECK-COUNT-2: linalg.reduce
func.func @dependent(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %i: tensor<3xf32>) -> tensor<3xf32> {
  %s = linalg.reduce { arith.addf } ins(%x : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%i : tensor<3xf32>) dimensions = [1]
  %t = linalg.reduce { arith.maximumf } ins(%x : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%s : tensor<3xf32>) dimensions = [1]
  return %t : tensor<3xf32>
}

// An op with settings keeps its loops.
// CHECK-LABEL: func.func @mapped
// CHECK: math.exp
// CHECK: arith.mulf %{{.*}}, %{{.*}} {ragged.mapping = {threads = 64 : i64}}
// CHECK: math.absf
func.func @mapped(%x: tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %0 = math.exp %x : tensor<?x?xf32, #ragged.layout<"dr">>
  %1 = arith.mulf %0, %0 {ragged.mapping = {threads = 64}} : tensor<?x?xf32, #ragged.layout<"dr">>
  %2 = math.absf %1 : tensor<?x?xf32, #ragged.layout<"dr">>
  return %2 : tensor<?x?xf32, #ragged.layout<"dr">>
}

// The second loop has its extent of what is broadcast: nothing else would say how long it is, where it is dynamic.
// CHECK-LABEL: func.func @extent
// CHECK-COUNT-2: linalg.generic
func.func @extent(%s: tensor<?xf32>, %e: tensor<?x?xf32>, %i: tensor<?xf32>) -> tensor<?xf32> {
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel"]} ins(%s : tensor<?xf32>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?x?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
                       iterator_types = ["parallel", "reduction"]} ins(%b : tensor<?x?xf32>) outs(%i : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = arith.addf %a, %o : f32
    linalg.yield %p : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// The first loop has the elements of tiles alone: what the second one reads beside these is what was there before.
// CHECK-LABEL: func.func @holes
// CHECK-COUNT-2: linalg.generic
func.func @holes(%s: tensor<3x2xi32, #ragged.layout<"dt">>, %i: tensor<3x2xi32>, %n: tensor<3x2xi32>) -> tensor<3x2xi32> {
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<3x2xi32, #ragged.layout<"dt">>) outs(%i : tensor<3x2xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  } -> tensor<3x2xi32>
  %z = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>],
                       iterator_types = ["parallel", "parallel"]} ins(%y : tensor<3x2xi32>) outs(%n : tensor<3x2xi32>) {
  ^bb0(%p: i32, %o: i32):
    %m = arith.muli %p, %p : i32
    linalg.yield %m : i32
  } -> tensor<3x2xi32>
  return %z : tensor<3x2xi32>
}
