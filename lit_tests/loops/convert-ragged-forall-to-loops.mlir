// RUN: ragged-opt %s "--convert-ragged-forall-to-loops=chunk=1024" | FileCheck %s

// CHECK-LABEL: func.func @forall
// CHECK-SAME: %[[N:[a-z0-9]+]]: index
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[N]]
// CHECK:   memref.store %{{.*}}, %{{.*}}[%[[I]]]
// CHECK: } {ragged.parallel}
func.func @forall(%n: index, %x: memref<?xf32>, %s: f32) {
  scf.forall (%i) in (%n) {
    memref.store %s, %x[%i] : memref<?xf32>
  }
  return
}

// Two dims become one loop; the indices come back by division.
// CHECK-LABEL: func.func @two
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK:   %[[OUTER:.*]] = arith.divui %[[I]]
// CHECK:   memref.store %{{.*}}, %{{.*}}[%[[OUTER]], %{{.*}}]
func.func @two(%n: index, %x: memref<?x4xf32>, %s: f32) {
  scf.forall (%i, %j) in (%n, 4) {
    memref.store %s, %x[%i, %j] : memref<?x4xf32>
  }
  return
}

// An index of one step is 0.
// CHECK-LABEL: func.func @one
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK:   %[[ZERO:.*]] = arith.constant 0
// CHECK:   memref.store %{{.*}}, %{{.*}}[%[[I]], %[[ZERO]]]
func.func @one(%n: index, %x: memref<?x1xf32>, %s: f32) {
  scf.forall (%i, %j) in (%n, 1) {
    memref.store %s, %x[%i, %j] : memref<?x1xf32>
  }
  return
}

// A flat op is cut into chunks of about the given number of elements: 16 rows of 64.
// CHECK-LABEL: func.func @flat
// CHECK: scf.for %[[C:.*]] =
// CHECK:   %[[LOW:.*]] = arith.muli %[[C]], %{{.*}} : index
// CHECK:   memref.subview %{{.*}}[%[[LOW]], 0]
// CHECK:   linalg.fill
// CHECK: } {ragged.parallel}
func.func @flat(%x: memref<?x64xf32>, %s: f32) {
  linalg.fill ins(%s : f32) outs(%x : memref<?x64xf32>)
  return
}

// A small one is not.
// CHECK-LABEL: func.func @small
// CHECK-NOT: scf.for
func.func @small(%x: memref<8x64xf32>, %s: f32) {
  linalg.fill ins(%s : f32) outs(%x : memref<8x64xf32>)
  return
}

// Ops over the same rows share a loop, and what only they use is allocated for a chunk: a row, as what is read twice and
// written has a sixteenth of the elements, which stay in the first cache.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x64xf32>, %[[Y:[a-z0-9]+]]: memref<?x64xf32>
// CHECK-COUNT-1: scf.for
// CHECK: %[[T:.*]] = memref.alloc() {{.*}} : memref<1xf32>
// CHECK: %[[TS:.*]] = memref.subview %[[T]][0] [%{{.*}}]
// CHECK: %[[XS:.*]] = memref.subview %[[X]]
// CHECK: linalg.fill {{.*}} outs(%[[TS]]
// CHECK: linalg.generic {{.*}} ins(%[[XS]] : {{.*}}) outs(%[[TS]]
// CHECK: linalg.generic {{.*}} ins(%[[XS]], %[[TS]]
// CHECK: } {ragged.parallel}
// CHECK-NOT: scf.for
func.func @rows(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %s: f32) -> memref<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %t = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%s : f32) outs(%t : memref<?xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x64xf32>) outs(%t : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  %z = memref.alloc(%n) : memref<?x64xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %t : memref<?x64xf32>, memref<?xf32>) outs(%z : memref<?x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.subf %a, %b : f32
    linalg.yield %0 : f32
  }
  return %z : memref<?x64xf32>
}

// An op that sees rows of others in what one before it writes has a loop of its own, as has one over other rows.
// CHECK-LABEL: func.func @apart
// CHECK: linalg.fill
// CHECK: } {ragged.parallel}
// CHECK: linalg.generic
// CHECK: } {ragged.parallel}
// CHECK: linalg.fill
// CHECK: } {ragged.parallel}
func.func @apart(%x: memref<?xf32>, %m: index, %s: f32) -> (memref<?xf32>, memref<?xf32>, memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %t = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%s : f32) outs(%t : memref<?xf32>)
  %y = memref.alloc(%n) : memref<?xf32>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %at = arith.fptosi %a : f32 to i64
    %k = arith.index_cast %at : i64 to index
    %0 = memref.load %t[%k] : memref<?xf32>
    linalg.yield %0 : f32
  }
  %z = memref.alloc(%m) : memref<?xf32>
  linalg.fill ins(%s : f32) outs(%z : memref<?xf32>)
  return %t, %y, %z : memref<?xf32>, memref<?xf32>, memref<?xf32>
}

// Tiles of their own: 32 elements make 2 of 16 rows; a forall hands them on. With one thread a loop is not marked.
// CHECK-LABEL: func.func @mapped
// CHECK: scf.for
// CHECK:   memref.subview %{{.*}}[%{{.*}}, 0] [%{{.*}}, 16]
// CHECK: } {ragged.parallel}
// CHECK: scf.for
// CHECK: } {ragged.mapping = {tile = 32 : i64}, ragged.parallel}
// CHECK: scf.for
// CHECK: memref.store
// CHECK-NEXT: }
// CHECK-NEXT: return
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @mapped(%n: index, %x: memref<?x16xf32>, %y: memref<?xf32>, %s: f32) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%x : memref<?x16xf32>)
      attrs = {ragged.mapping = {tile = 32}} {
  ^bb0(%out: f32):
    %0 = arith.mulf %out, %s : f32
    linalg.yield %0 : f32
  }
  scf.forall (%i) in (%n) {
    memref.store %s, %y[%i] : memref<?xf32>
  } {ragged.mapping = {tile = 32}}
  scf.forall (%i) in (%n) {
    memref.store %s, %y[%i] : memref<?xf32>
  } {ragged.mapping = {threads = 1}}
  return
}

// Ops that are mapped otherwise are in loops of their own.
// CHECK-LABEL: func.func @loops_of_their_own
// CHECK: scf.for
// CHECK:   arith.addf
// CHECK: } {ragged.parallel}
// CHECK: scf.for
// CHECK:   arith.mulf
// CHECK:   arith.subf
// CHECK-NOT: ragged.parallel
// CHECK: return
func.func @loops_of_their_own(%n: index) -> memref<?x16xf32> {
  %x = memref.alloc(%n) : memref<?x16xf32>
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%x : memref<?x16xf32>) {
  ^bb0(%out: f32):
    %0 = arith.addf %out, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%x : memref<?x16xf32>)
      attrs = {ragged.mapping = {threads = 1}} {
  ^bb0(%out: f32):
    %0 = arith.mulf %out, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%x : memref<?x16xf32>) {
  ^bb0(%out: f32):
    %0 = arith.subf %out, %out : f32
    linalg.yield %0 : f32
  }
  return %x : memref<?x16xf32>
}

// Rows that an op takes by their number are counted from where its chunk begins.
// CHECK-LABEL: func.func @numbered
// CHECK-SAME: (%[[TABLE:.*]]: memref<?x64xf32>, %[[IDS:.*]]: memref<?xi64>, %{{.*}}: memref<?x64xf32>)
// CHECK: scf.for %[[CHUNK:.*]] = %{{.*}}
// CHECK:   %[[LOW:.*]] = arith.muli %[[CHUNK]], %{{.*}} : index
// CHECK:   linalg.generic
// CHECK:     %[[I:.*]] = linalg.index 0 : index
// CHECK:     %[[ROW:.*]] = arith.addi %[[I]], %[[LOW]] : index
// CHECK:     memref.load %[[IDS]][%[[ROW]]]
// CHECK: } {ragged.parallel}
func.func @numbered(%table: memref<?x64xf32>, %ids: memref<?xi64>, %rows: memref<?x64xf32>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%rows : memref<?x64xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %id = memref.load %ids[%i] : memref<?xi64>
    %at = arith.index_cast %id : i64 to index
    %x = memref.load %table[%at, %j] : memref<?x64xf32>
    linalg.yield %x : f32
  }
  return
}

// Products of the rows of components are computed by tiles of rows: of a component there are as many as its rows fill, and
// one. What is left for a later product is as large as a tile.
// CHECK-LABEL: func.func @tiles_of_rows
// CHECK-SAME: (%[[O:.*]]: memref<?xi64>, %[[N:.*]]: index,
// CHECK: %[[FILLED:.*]] = arith.divui %{{.*}}, %c256{{.*}} : index
// CHECK: %[[TILES:.*]] = arith.addi %[[FILLED]], %[[N]] : index
// CHECK: scf.for
// CHECK:   %[[HIGH:.*]] = arith.minsi %{{.*}}, %[[TILES]]
// CHECK:   %[[FOUND:.*]]:2 = scf.while
// CHECK:   scf.for %{{.*}} = %{{.*}} to %[[HIGH]] {{.*}} iter_args(%[[COMPONENT:.*]] = %[[FOUND]]#1)
// CHECK:   scf.if
// CHECK:     memref.subview %{{.*}}[%[[COMPONENT]], 0, 0] [1, 64, 64]
// CHECK:     %[[LEFT:.*]] = memref.alloc() {{.*}} : memref<256x64xf32>
// CHECK:     linalg.fill
// CHECK:     linalg.generic
// CHECK:     linalg.generic
// CHECK: } {ragged.parallel}
#rows = affine_map<(m, n, k) -> (m, k)>
#weights = affine_map<(m, n, k) -> (k, n)>
#sums = affine_map<(m, n, k) -> (m, n)>
func.func @tiles_of_rows(%o: memref<?xi64>, %n: index, %x: memref<?x64xf32>, %w: memref<?x64x64xf32>, %y: memref<?x64xf32>) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%b) in (%n) {
    %low = memref.load %o[%b] : memref<?xi64>
    %start = arith.index_cast %low : i64 to index
    %next = arith.addi %b, %c1 : index
    %high = memref.load %o[%next] : memref<?xi64>
    %end = arith.index_cast %high : i64 to index
    %length = arith.subi %end, %start : index
    %own = memref.subview %x[%start, 0] [%length, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
    %right = memref.subview %w[%b, 0, 0] [1, 64, 64] [1, 1, 1] : memref<?x64x64xf32> to memref<64x64xf32, strided<[64, 1], offset: ?>>
    %t = memref.alloc(%length) : memref<?x64xf32>
    linalg.fill ins(%zero : f32) outs(%t : memref<?x64xf32>)
    linalg.generic {indexing_maps = [#rows, #weights, #sums], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%own, %right : memref<?x64xf32, strided<[64, 1], offset: ?>>, memref<64x64xf32, strided<[64, 1], offset: ?>>)
        outs(%t : memref<?x64xf32>) {
    ^bb0(%a: f32, %c: f32, %s: f32):
      %p = arith.mulf %a, %c : f32
      %q = arith.addf %s, %p : f32
      linalg.yield %q : f32
    }
    %to = memref.subview %y[%start, 0] [%length, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<?x64xf32>) outs(%to : memref<?x64xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%a: f32, %s: f32):
      %q = math.exp %a : f32
      linalg.yield %q : f32
    }
  }
  return
}

// Not where something is of the component as a whole, or its length comes from elsewhere.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: scf.while
// CHECK: return
func.func @whole(%o: memref<?xi64>, %n: index, %x: memref<?x64xf32>, %w: memref<64x64xf32>, %y: memref<?x64xf32>, %z: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%b) in (%n) {
    %low = memref.load %o[%b] : memref<?xi64>
    %start = arith.index_cast %low : i64 to index
    %next = arith.addi %b, %c1 : index
    %high = memref.load %o[%next] : memref<?xi64>
    %end = arith.index_cast %high : i64 to index
    %length = arith.subi %end, %start : index
    %own = memref.subview %x[%start, 0] [%length, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
    %to = memref.subview %y[%start, 0] [%length, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#rows, #weights, #sums], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%own, %w : memref<?x64xf32, strided<[64, 1], offset: ?>>, memref<64x64xf32>)
        outs(%to : memref<?x64xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%a: f32, %c: f32, %s: f32):
      %p = arith.mulf %a, %c : f32
      %q = arith.addf %s, %p : f32
      linalg.yield %q : f32
    }
    memref.store %zero, %z[%b] : memref<?xf32>
  }
  scf.forall (%b) in (%n) {
    %low = memref.load %o[%b] : memref<?xi64>
    %length = arith.index_cast %low : i64 to index
    %own = memref.subview %x[%b, 0] [%length, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
    %to = memref.subview %y[%b, 0] [%length, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#rows, #weights, #sums], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%own, %w : memref<?x64xf32, strided<[64, 1], offset: ?>>, memref<64x64xf32>)
        outs(%to : memref<?x64xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%a: f32, %c: f32, %s: f32):
      %p = arith.mulf %a, %c : f32
      %q = arith.addf %s, %p : f32
      linalg.yield %q : f32
    }
  }
  return
}

// Rows that are read twice, and not written, are cut into chunks of all elements, 16 rows of 64.

// CHECK-LABEL: func.func @only_read
// CHECK: scf.for
// CHECK: memref.alloc() {{.*}} : memref<16xf32>
// CHECK-COUNT-2: linalg.generic
func.func @only_read(%n: index, %x: memref<?x64xf32>, %y: memref<?xf32>) {
  %largest = memref.alloc(%n) : memref<?xf32>
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (r)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x64xf32>) outs(%largest : memref<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %0 = arith.maximumf %acc, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (r)>, affine_map<(r, d) -> (r)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %largest : memref<?x64xf32>, memref<?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %most: f32, %acc: f32):
    %0 = arith.subf %a, %most : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Rows that three ops go through are cut into chunks of a sixteenth of the elements, 16 rows of 4.

// CHECK-LABEL: func.func @three_passes
// CHECK: scf.for
// CHECK: memref.alloc() {{.*}} : memref<16x4xf32>
// CHECK-COUNT-3: linalg.generic
func.func @three_passes(%n: index, %x: memref<?x4xf32>) {
  %rows = memref.alloc(%n) : memref<?x4xf32>
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (r, d)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x4xf32>) outs(%rows : memref<?x4xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.addf %a, %a : f32
    linalg.yield %0 : f32
  }
  %sums = memref.alloc(%n) : memref<?xf32>
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (r)>], iterator_types = ["parallel", "reduction"]}
      ins(%rows : memref<?x4xf32>) outs(%sums : memref<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %0 = arith.addf %acc, %a : f32
    linalg.yield %0 : f32
  }
  %made = memref.alloc(%n) : memref<?x4xf32>
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (r)>, affine_map<(r, d) -> (r, d)>], iterator_types = ["parallel", "parallel"]}
      ins(%rows, %sums : memref<?x4xf32>, memref<?xf32>) outs(%made : memref<?x4xf32>) {
  ^bb0(%a: f32, %sum: f32, %out: f32):
    %0 = arith.divf %a, %sum : f32
    linalg.yield %0 : f32
  }
  return
}

// The extent of a dim that there is not is nothing that is known.
// CHECK-LABEL: func.func @no_such_dim
// CHECK: memref.dim
func.func @no_such_dim(%x: memref<?x64xf32>) -> memref<?x64xf32> {
  %c5 = arith.constant 5 : index
  %n = memref.dim %x, %c5 : memref<?x64xf32>
  %y = memref.alloc(%n) : memref<?x64xf32>
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (r, d)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x64xf32>) outs(%y : memref<?x64xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.addf %a, %a : f32
    linalg.yield %0 : f32
  }
  %z = memref.alloc(%n) : memref<?x64xf32>
  linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (r, d)>], iterator_types = ["parallel", "parallel"]}
      ins(%y : memref<?x64xf32>) outs(%z : memref<?x64xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  }
  return %z : memref<?x64xf32>
}

// What a body writes is read after all of it.
// CHECK-LABEL: func.func @written
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : memref<65536xf32>)
// CHECK: memref.load
// CHECK: linalg.generic
func.func @written(%x: memref<65536xf32>, %m: memref<1xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %y = memref.alloc() : memref<65536xf32>
  %z = memref.alloc() : memref<65536xf32>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : memref<65536xf32>) outs(%y : memref<65536xf32>) {
  ^bb0(%a: f32, %o: f32):
    memref.store %a, %m[%c0] : memref<1xf32>
    linalg.yield %a : f32
  }
  %v = memref.load %m[%c0] : memref<1xf32>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%y : memref<65536xf32>) outs(%z : memref<65536xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.addf %a, %a : f32
    linalg.yield %b : f32
  }
  return %v : f32
}
