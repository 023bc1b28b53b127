// RUN: ragged-opt %s --ragged-fuse | FileCheck %s

// Elementwise ops become one nest; a value used twice in it is computed once.
// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[Y:[a-z0-9]*]]: tensor<3x?xf32, #ragged.layout<"dr">>)
// CHECK-NEXT: %[[E:.*]] = ragged.empty %[[X]] :
// CHECK-NEXT: %[[R:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[Y]] : {{.*}}) outs(%[[E]] :
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[P:.*]] = math.exp %[[A]] : f32
// CHECK-NEXT: %[[Q:.*]] = arith.mulf %[[P]], %[[B]] fastmath<contract> : f32
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[Q]], %[[P]] : f32
// CHECK-NEXT: linalg.yield %[[S]] : f32
// CHECK: return %[[R]]
func.func @elementwise(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %e = math.exp %x : tensor<3x?xf32, #ragged.layout<"dr">>
  %f = arith.mulf %e, %y fastmath<contract> : tensor<3x?xf32, #ragged.layout<"dr">>
  %g = arith.addf %f, %e : tensor<3x?xf32, #ragged.layout<"dr">>
  return %g : tensor<3x?xf32, #ragged.layout<"dr">>
}

// Into a reduction; lengths are asked of the argument, so that nothing else uses the product.
// CHECK-LABEL: func.func @reduction
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[I:[a-z0-9]*]]: tensor<3xf32>)
// CHECK-NEXT: ragged.lengths %[[X]]
// CHECK-NEXT: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[X]] : {{.*}}) outs(%[[I]] : tensor<3xf32>)
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[ACC:.*]]: f32):
// CHECK-NEXT: %[[Q:.*]] = arith.mulf %[[A]], %[[A]] : f32
// CHECK-NEXT: arith.addf %[[ACC]], %[[Q]] : f32
func.func @reduction(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %i: tensor<3xf32>) -> (tensor<3xf32>, tensor<?xi64>) {
  %q = arith.mulf %x, %x : tensor<3x?xf32, #ragged.layout<"dr">>
  %l = ragged.lengths %q {level = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
  %s = linalg.reduce { arith.addf } ins(%q : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%i : tensor<3xf32>) dimensions = [1]
  return %s, %l : tensor<3xf32>, tensor<?xi64>
}

// A broadcast is a map; the exponential of the maximum is not repeated per element.
// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[M:[a-z0-9]*]]: tensor<3xf32>)
// CHECK-NEXT: %[[P:.*]] = math.exp %[[M]] : tensor<3xf32>
// CHECK-NEXT: %[[E:.*]] = ragged.empty %[[X]] :
// CHECK-NEXT: linalg.generic {indexing_maps = [#[[BATCH:.*]], #[[ALL:.*]], #[[ALL]]], {{.*}}} ins(%[[P]], %[[X]] : {{.*}}) outs(%[[E]] :
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: arith.subf %[[B]], %[[A]] : f32
func.func @broadcast(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %m: tensor<3xf32>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %p = math.exp %m : tensor<3xf32>
  %o = ragged.empty %x : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %b = linalg.broadcast ins(%p : tensor<3xf32>) outs(%o : tensor<3x?xf32, #ragged.layout<"dr">>) dimensions = [1]
  %d = arith.subf %x, %b : tensor<3x?xf32, #ragged.layout<"dr">>
  return %d : tensor<3x?xf32, #ragged.layout<"dr">>
}

// Two reductions of the same elements: one nest, two results.
// CHECK-LABEL: func.func @siblings
// CHECK: %[[R:.*]]:2 = linalg.generic
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[S:.*]]: f32, %[[T:.*]]: f32):
// CHECK-NEXT: %[[P:.*]] = arith.addf %[[S]], %[[A]] : f32
// CHECK-NEXT: %[[Q:.*]] = arith.mulf %[[A]], %[[A]] : f32
// CHECK-NEXT: %[[U:.*]] = arith.addf %[[T]], %[[Q]] : f32
// CHECK-NEXT: linalg.yield %[[P]], %[[U]] : f32, f32
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @siblings(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %i: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %s = linalg.reduce { arith.addf } ins(%x : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%i : tensor<3xf32>) dimensions = [1]
  %q = arith.mulf %x, %x : tensor<3x?xf32, #ragged.layout<"dr">>
  %t = linalg.reduce { arith.addf } ins(%q : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%i : tensor<3xf32>) dimensions = [1]
  return %s, %t : tensor<3xf32>, tensor<3xf32>
}

// What both read goes into the one that they become.
// CHECK-LABEL: func.func @siblings_of_one
// CHECK-NEXT: %[[R:.*]]:2 = linalg.generic
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[S:.*]]: f32, %[[T:.*]]: f32):
// CHECK-NEXT: %[[E:.*]] = math.exp %[[A]] : f32
// CHECK-NEXT: arith.addf %[[S]], %[[E]] : f32
// CHECK-NEXT: arith.maximumf %[[T]], %[[E]] : f32
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @siblings_of_one(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %i: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %e = math.exp %x : tensor<3x?xf32, #ragged.layout<"dr">>
  %s = linalg.reduce { arith.addf } ins(%e : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%i : tensor<3xf32>) dimensions = [1]
  %t = linalg.reduce { arith.maximumf } ins(%e : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%i : tensor<3xf32>) dimensions = [1]
  return %s, %t : tensor<3xf32>, tensor<3xf32>
}

// Cheap ops are computed by each of their consumers, where that moves fewer bytes than storing their results does.
// CHECK-LABEL: func.func @cheap
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[I:[a-z0-9]*]]: tensor<3xf32>)
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[X]] : {{.*}}) outs(%[[I]] :
// CHECK: arith.subf
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[S]] :
// CHECK: arith.subf
// CHECK: arith.mulf
// CHECK: return %[[Y]]
func.func @cheap(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %i: tensor<3xf32>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %one = arith.constant 1.0 : f32
  %e = ragged.empty %x : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %d = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b, i)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%e : tensor<3x?xf32, #ragged.layout<"dr">>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.subf %a, %one : f32
    linalg.yield %0 : f32
  } -> tensor<3x?xf32, #ragged.layout<"dr">>
  %s = linalg.reduce { arith.addf } ins(%d : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%i : tensor<3xf32>) dimensions = [1]
  %y = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b)>, affine_map<(b, i) -> (b, i)>], iterator_types = ["parallel", "parallel"]}
      ins(%d, %s : tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3xf32>) outs(%e : tensor<3x?xf32, #ragged.layout<"dr">>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %y : tensor<3x?xf32, #ragged.layout<"dr">>
}

// Of an exponential the result is stored.
// CHECK-LABEL: func.func @dear
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK: return
func.func @dear(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %i: tensor<3xf32>) -> (tensor<3xf32>, tensor<3x?xf32, #ragged.layout<"dr">>) {
  %e = math.exp %x : tensor<3x?xf32, #ragged.layout<"dr">>
  %s = linalg.reduce { arith.addf } ins(%e : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%i : tensor<3xf32>) dimensions = [1]
  %y = arith.mulf %e, %x : tensor<3x?xf32, #ragged.layout<"dr">>
  return %s, %y : tensor<3xf32>, tensor<3x?xf32, #ragged.layout<"dr">>
}

// A sum over features of what is made of none has their extent of a vector that nobody reads.
// CHECK-LABEL: func.func @extents
// CHECK: %[[NOTHING:.*]] = tensor.empty() : tensor<4xi1>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[NOTHING]] : tensor<3x?x1xi64, #ragged.layout<"dr|d">>, tensor<4xi1>)
// CHECK: linalg.index 2
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
func.func @extents(%p: tensor<3x?x1xi64, #ragged.layout<"dr|d">>, %e: tensor<3x?x4xf32, #ragged.layout<"dr|d">>, %z: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %0 = linalg.generic {indexing_maps = [affine_map<(b, i, k) -> (b, i, 0)>, affine_map<(b, i, k) -> (b, i, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p : tensor<3x?x1xi64, #ragged.layout<"dr|d">>) outs(%e : tensor<3x?x4xf32, #ragged.layout<"dr|d">>) {
  ^bb0(%at: i64, %out: f32):
    %k = linalg.index 2 : index
    %n = arith.index_cast %k : index to i64
    %here = arith.cmpi eq, %n, %at : i64
    %1 = arith.select %here, %one, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<3x?x4xf32, #ragged.layout<"dr|d">>
  %s = linalg.reduce { arith.addf } ins(%0 : tensor<3x?x4xf32, #ragged.layout<"dr|d">>) outs(%z : tensor<3x?xf32, #ragged.layout<"dr">>) dimensions = [2]
  return %s : tensor<3x?xf32, #ragged.layout<"dr">>
}

// Whether elements of a width that nothing here knows are computed twice cannot be weighed: they are not.
// CHECK-LABEL: func.func @unknown_width
// CHECK: %[[C:.*]] = ragged.compact
// CHECK: math.exp %[[C]]
// CHECK: ragged.offsets %[[C]]
func.func @unknown_width(%x: tensor<3x?xf80, #ragged.layout<"dw">>) -> (tensor<3x?xf80, #ragged.layout<"dr">>, tensor<?xi64>) {
  %0 = ragged.compact %x : (tensor<3x?xf80, #ragged.layout<"dw">>) -> tensor<3x?xf80, #ragged.layout<"dr">>
  %1 = math.exp %0 : tensor<3x?xf80, #ragged.layout<"dr">>
  %2 = ragged.offsets %0 {level = 1} : (tensor<3x?xf80, #ragged.layout<"dr">>) -> tensor<?xi64>
  return %1, %2 : tensor<3x?xf80, #ragged.layout<"dr">>, tensor<?xi64>
}

// What reads memory stays where it is: something may be written there before the reader.
// CHECK-LABEL: func.func @memory
// CHECK: memref.store %{{.*}}, %[[M:.*]][
// CHECK: linalg.generic
// CHECK: memref.load %[[M]]
// CHECK: memref.store %{{.*}}, %[[M]][
// CHECK: arith.mulf %{{.*}} : tensor<3x?xf32, #ragged.layout<"dr">>
func.func @memory(%x: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %m = memref.alloca() : memref<1xf32>
  memref.store %one, %m[%c0] : memref<1xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x?xf32, #ragged.layout<"dr">>) outs(%x : tensor<3x?xf32, #ragged.layout<"dr">>) {
  ^bb0(%a: f32, %o: f32):
    %v = memref.load %m[%c0] : memref<1xf32>
    %r = arith.addf %a, %v : f32
    linalg.yield %r : f32
  } -> tensor<3x?xf32, #ragged.layout<"dr">>
  memref.store %two, %m[%c0] : memref<1xf32>
  %1 = arith.mulf %0, %x : tensor<3x?xf32, #ragged.layout<"dr">>
  return %1 : tensor<3x?xf32, #ragged.layout<"dr">>
}

// Indices are computed where pairs of rows meet, though each is needed for many: both of one op, by two maps.
// CHECK-LABEL: func.func @indices_of_pairs
// CHECK: ragged.partition
// CHECK-NOT: linalg.generic
// CHECK: linalg.fill
// CHECK: linalg.generic
// CHECK-DAG: linalg.index 1
// CHECK-DAG: linalg.index 2
// CHECK: arith.cmpi slt
func.func @indices_of_pairs(%v: tensor<?xf32>, %o: tensor<?xi64>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %x = ragged.partition %v, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %e = ragged.empty %x : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xi64, #ragged.layout<"dr">>
  %index = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>], iterator_types = ["parallel", "parallel"]}
      outs(%e : tensor<?x?xi64, #ragged.layout<"dr">>) {
  ^bb0(%out: i64):
    %i = linalg.index 1 : index
    %a = arith.index_cast %i : index to i64
    linalg.yield %a : i64
  } -> tensor<?x?xi64, #ragged.layout<"dr">>
  %n = tensor.dim %x, %c0 : tensor<?x?xf32, #ragged.layout<"dr">>
  %d = tensor.empty(%n) : tensor<?xf32>
  %init = linalg.fill ins(%zero : f32) outs(%d : tensor<?xf32>) -> tensor<?xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i)>, affine_map<(b, i, j) -> (b, i)>, affine_map<(b, i, j) -> (b, j)>,
      affine_map<(b, i, j) -> (b, j)>, affine_map<(b, i, j) -> (b)>], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x, %index, %x, %index : tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x?xi64, #ragged.layout<"dr">>,
      tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x?xi64, #ragged.layout<"dr">>) outs(%init : tensor<?xf32>) {
  ^bb0(%a: f32, %i: i64, %b: f32, %j: i64, %acc: f32):
    %later = arith.cmpi slt, %i, %j : i64
    %product = arith.mulf %a, %b : f32
    %chosen = arith.select %later, %product, %zero : f32
    %sum = arith.addf %acc, %chosen : f32
    linalg.yield %sum : f32
  } -> tensor<?xf32>
  return %sums : tensor<?xf32>
}

// Where nothing but indices has the lengths of a loop, what they are of has them, whose elements nobody reads.
// CHECK-LABEL: func.func @indices_alone
// CHECK: %[[X:.*]] = ragged.partition
// CHECK-NOT: linalg.generic
// CHECK: linalg.fill
// CHECK: linalg.generic {{.*}} ins(%[[X]] : {{.*}}) outs
// CHECK: linalg.index 1
func.func @indices_alone(%v: tensor<?xf32>, %o: tensor<?xi64>) -> tensor<?xi64> {
  %zero = arith.constant 0 : i64
  %c0 = arith.constant 0 : index
  %x = ragged.partition %v, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %e = ragged.empty %x {from = [[0, 0], [0, 1]]} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xi64, #ragged.layout<"dr">>
  %index = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>], iterator_types = ["parallel", "parallel"]}
      outs(%e : tensor<?x?xi64, #ragged.layout<"dr">>) {
  ^bb0(%out: i64):
    %i = linalg.index 1 : index
    %a = arith.index_cast %i : index to i64
    linalg.yield %a : i64
  } -> tensor<?x?xi64, #ragged.layout<"dr">>
  %n = tensor.dim %x, %c0 : tensor<?x?xf32, #ragged.layout<"dr">>
  %d = tensor.empty(%n) : tensor<?xi64>
  %init = linalg.fill ins(%zero : i64) outs(%d : tensor<?xi64>) -> tensor<?xi64>
  %sums = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b)>], iterator_types = ["parallel", "reduction"]}
      ins(%index : tensor<?x?xi64, #ragged.layout<"dr">>) outs(%init : tensor<?xi64>) {
  ^bb0(%a: i64, %acc: i64):
    %sum = arith.addi %acc, %a : i64
    linalg.yield %sum : i64
  } -> tensor<?xi64>
  return %sums : tensor<?xi64>
}
