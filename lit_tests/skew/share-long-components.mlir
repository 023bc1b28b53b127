// RUN: ragged-opt %s --split-input-file --share-long-components --canonicalize --cse | FileCheck %s
// RUN: ragged-opt %s --split-input-file --share-long-components="refuse=true" --canonicalize --cse | FileCheck %s --check-prefix=REFUSE

// Components between long ones run as they did; those have their rows in parts, whose maxima are put together, and their
// map on the host, to be cut into chunks.

// CHECK-LABEL: func.func @reduction_and_map
// CHECK-SAME: (%[[O:.*]]: memref<?xi64>, %[[X:.*]]: memref<?x4xf32>, %[[M:.*]]: memref<?x4xf32>, %[[Y:.*]]: memref<?x4xf32>, %[[N:.*]]: index)
// CHECK: %[[SHARE:.*]] = arith.divui %{{.*}}, %c16
// CHECK: %[[MOST:.*]] = arith.maxsi %[[SHARE]], %c32768
// CHECK: scf.for %{{.*}} iter_args(%[[NEXT:.*]] = %c0) -> (index) {
// CHECK:   %[[B:.*]]:2 = scf.if
// CHECK:     scf.yield %[[N]], %c0
// CHECK:     scf.while
// CHECK:   %[[LONG:.*]] = arith.cmpi sgt, %[[B]]#1, %[[MOST]]
// CHECK:   scf.if
// CHECK:     %[[COUNT:.*]] = arith.subi %[[B]]#0, %[[NEXT]]
// CHECK:     scf.forall (%[[I:.*]]) in (%[[COUNT]]) {
// CHECK:       %[[C:.*]] = arith.addi %[[NEXT]], %[[I]]
// CHECK:       memref.load %[[O]][%[[C]]]
// CHECK:       linalg.generic
// CHECK:       linalg.generic
// CHECK:     scf.if
// CHECK:       %[[PARTS:.*]] = memref.alloc(%[[TILES:.*]]) : memref<?x4xf32>
// CHECK:       scf.forall (%[[T:.*]]) in (%[[TILES]]) {
// CHECK:         %[[LOW:.*]] = arith.muli %[[T]], %c4096
// CHECK:         %[[OWN:.*]] = memref.alloc() : memref<4xf32>
// CHECK:         linalg.generic {{.*}} ins(%{{.*}} : f32) outs(%[[OWN]]
// CHECK:         linalg.generic {{.*}} outs(%[[OWN]]
// CHECK:         %[[PART:.*]] = memref.subview %[[PARTS]][%[[T]], 0] [1, 4]
// CHECK:         linalg.copy ins(%[[OWN]] {{.*}} outs(%[[PART]]
// CHECK:       linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[PARTS]]
// CHECK:       linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]}

// One question before the components of a vector, however many foralls are over them.

// REFUSE: module attributes {ragged.refuses_skew}
// REFUSE-LABEL: func.func @reduction_and_map
// REFUSE: memref.extract_aligned_pointer_as_index %arg0
// REFUSE: llvm.call @ragged_refuse_skew(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (i64, i64, i64, i64) -> ()
// REFUSE-NEXT: scf.forall
// REFUSE-NOT: llvm.call
// REFUSE: scf.forall
// REFUSE: return
func.func @reduction_and_map(%offsets: memref<?xi64>, %x: memref<?x4xf32>, %max: memref<?x4xf32>,
                             %y: memref<?x4xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  scf.forall (%b) in (%n) {
    %l = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %l : i64 to index
    %next = arith.addi %b, %c1 : index
    %h = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %h : i64 to index
    %length = arith.subi %high, %low : index
    %rows = memref.subview %x[%low, 0] [%length, 4] [1, 1] : memref<?x4xf32> to memref<?x4xf32, strided<[4, 1], offset: ?>>
    %m = memref.subview %max[%b, 0] [1, 4] [1, 1] : memref<?x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (d)>], iterator_types = ["reduction", "parallel"]}
        ins(%rows : memref<?x4xf32, strided<[4, 1], offset: ?>>) outs(%m : memref<4xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %acc: f32):
      %0 = arith.maximumf %acc, %a : f32
      linalg.yield %0 : f32
    }
    %out = memref.subview %y[%low, 0] [%length, 4] [1, 1] : memref<?x4xf32> to memref<?x4xf32, strided<[4, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (d)>, affine_map<(r, d) -> (r, d)>], iterator_types = ["parallel", "parallel"]}
        ins(%rows, %m : memref<?x4xf32, strided<[4, 1], offset: ?>>, memref<4xf32, strided<[1], offset: ?>>)
        outs(%out : memref<?x4xf32, strided<[4, 1], offset: ?>>) {
    ^bb0(%a: f32, %b0: f32, %c: f32):
      %0 = arith.subf %a, %b0 : f32
      linalg.yield %0 : f32
    }
  }
  scf.forall (%b) in (%n) {
    %l = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %l : i64 to index
    %next = arith.addi %b, %c1 : index
    %h = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %h : i64 to index
    %length = arith.subi %high, %low : index
    %out = memref.subview %y[%low, 0] [%length, 4] [1, 1] : memref<?x4xf32> to memref<?x4xf32, strided<[4, 1], offset: ?>>
    %m = memref.subview %max[%b, 0] [1, 4] [1, 1] : memref<?x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(r, d) -> (d)>, affine_map<(r, d) -> (r, d)>], iterator_types = ["parallel", "parallel"]}
        ins(%m : memref<4xf32, strided<[1], offset: ?>>) outs(%out : memref<?x4xf32, strided<[4, 1], offset: ?>>) {
    ^bb0(%a: f32, %c: f32):
      %0 = arith.addf %a, %c : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// -----

// A maximum that keeps NaN by a comparison is no combiner: what it has seen before is forgotten with the next element.

// CHECK-LABEL: func.func @no_combiner
// CHECK-NOT: scf.while
// CHECK: scf.forall (%{{.*}}) in (%arg3)
// CHECK: return

// REFUSE-LABEL: func.func @no_combiner
// REFUSE-NOT: llvm.call
// REFUSE: return
func.func @no_combiner(%offsets: memref<?xi64>, %x: memref<?xf32>, %max: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  scf.forall (%b) in (%n) {
    %l = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %l : i64 to index
    %next = arith.addi %b, %c1 : index
    %h = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %h : i64 to index
    %length = arith.subi %high, %low : index
    %rows = memref.subview %x[%low] [%length] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %m = memref.subview %max[%b] [1] [1] : memref<?xf32> to memref<f32, strided<[], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> ()>], iterator_types = ["reduction"]}
        ins(%rows : memref<?xf32, strided<[1], offset: ?>>) outs(%m : memref<f32, strided<[], offset: ?>>) {
    ^bb0(%a: f32, %acc: f32):
      %c = arith.cmpf ugt, %a, %acc : f32
      %0 = arith.select %c, %a, %acc : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// -----

// What calls functions of others is not to be run twice: it shares at once.

// REFUSE-LABEL: func.func @effects
// REFUSE-NOT: llvm.call
// REFUSE: scf.while
// REFUSE: return
func.func private @others()

func.func @effects(%offsets: memref<?xi64>, %x: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  func.call @others() : () -> ()
  scf.forall (%b) in (%n) {
    %l = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %l : i64 to index
    %next = arith.addi %b, %c1 : index
    %h = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %h : i64 to index
    %length = arith.subi %high, %low : index
    %rows = memref.subview %x[%low] [%length] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(r) -> (r)>], iterator_types = ["parallel"]}
        outs(%rows : memref<?xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32):
      %0 = arith.addf %a, %a : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// -----

// Bodies know their component.

// CHECK-LABEL: func.func @captured
// CHECK: %[[B:.*]]:2 = scf.if
// CHECK: scf.forall (%[[I:.*]]) in
// CHECK:   %[[C:.*]] = arith.addi %{{.*}}, %[[I]]
// CHECK:   ^bb0
// CHECK-NEXT: memref.load %arg2[%[[C]]]
// CHECK: scf.if
// CHECK:   ^bb0
// CHECK-NEXT: memref.load %arg2[%[[B]]#0]
func.func @captured(%offsets: memref<?xi64>, %x: memref<?xi64>, %of: memref<?xi64>, %n: index) {
  %c1 = arith.constant 1 : index
  scf.forall (%b) in (%n) {
    %l = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %l : i64 to index
    %next = arith.addi %b, %c1 : index
    %h = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %h : i64 to index
    %length = arith.subi %high, %low : index
    %rows = memref.subview %x[%low] [%length] [1] : memref<?xi64> to memref<?xi64, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(r) -> (r)>], iterator_types = ["parallel"]}
        outs(%rows : memref<?xi64, strided<[1], offset: ?>>) {
    ^bb0(%a: i64):
      %0 = memref.load %of[%b] : memref<?xi64>
      linalg.yield %0 : i64
    }
  }
  return
}

// -----

// A scan of a long component: the sums of parts, what comes before each, and the parts from that.

// CHECK-LABEL: func.func @scan
// CHECK: %[[MOST:.*]] = arith.minsi %[[TILES:.*]], %c128
// CHECK: %[[ROOM:.*]] = memref.alloc(%[[MOST]]) : memref<?x4xf32>
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %[[TILES]] step %[[MOST]] {
// CHECK: %[[COUNT:.*]] = arith.minsi %[[MOST]], %{{.*}}
// CHECK: %[[PARTS:.*]] = memref.subview %[[ROOM]][0, 0] [%[[COUNT]], 4]
// CHECK: scf.forall (%{{.*}}) in (%[[COUNT]]) {
// CHECK:   %[[OWN:.*]] = memref.alloc() : memref<4xf32>
// CHECK:   linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%{{.*}} : {{[^)]*}}) outs(%[[OWN]] : memref<4xf32>)
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} outs(%[[PARTS]], %[[SUM:.*]] : memref<?x4xf32, {{.*}}>, memref<4xf32>)
// CHECK: ^bb0(%[[PART:.*]]: f32, %[[BEFORE:.*]]: f32):
// CHECK:   %[[AFTER:.*]] = arith.addf %[[BEFORE]], %[[PART]] : f32
// CHECK:   linalg.yield %[[BEFORE]], %[[AFTER]] : f32, f32
// CHECK: scf.forall (%[[T:.*]]) in (%[[COUNT]]) {
// CHECK:   arith.addi %[[T]], %[[FIRST]]
// CHECK:   %[[START:.*]] = memref.subview %[[PARTS]][%[[T]], 0] [1, 4]
// CHECK:   linalg.copy ins(%[[START]] {{.*}} outs(%[[FROM:.*]] : memref<4xf32>)
// CHECK:   linalg.generic {{.*}} outs(%[[FROM]], %{{.*}} : memref<4xf32>, memref<?x4xf32
func.func @scan(%offsets: memref<?xi64>, %x: memref<?x4xf32>, %y: memref<?x4xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%b) in (%n) {
    %l = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %l : i64 to index
    %next = arith.addi %b, %c1 : index
    %h = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %h : i64 to index
    %length = arith.subi %high, %low : index
    %sum = memref.alloc() : memref<4xf32>
    linalg.fill ins(%zero : f32) outs(%sum : memref<4xf32>)
    %rows = memref.subview %x[%low, 0] [%length, 4] [1, 1] : memref<?x4xf32> to memref<?x4xf32, strided<[4, 1], offset: ?>>
    %sums = memref.subview %y[%low, 0] [%length, 4] [1, 1] : memref<?x4xf32> to memref<?x4xf32, strided<[4, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, d)>, affine_map<(r, d) -> (d)>, affine_map<(r, d) -> (r, d)>], iterator_types = ["reduction", "parallel"]}
        ins(%rows : memref<?x4xf32, strided<[4, 1], offset: ?>>) outs(%sum, %sums : memref<4xf32>, memref<?x4xf32, strided<[4, 1], offset: ?>>) {
    ^bb0(%a: f32, %acc: f32, %out: f32):
      %0 = arith.addf %acc, %a : f32
      linalg.yield %0, %0 : f32, f32
    }
  }
  return
}

// -----

// Squares of differences from a mean are added up from the mean of each part, while its rows are in the cache: the rows
// are gone through once. Where the squares are of something else than what the mean is of, twice.

#rows = affine_map<(r) -> (r)>
#none = affine_map<(r) -> ()>
#one = affine_map<() -> ()>

// CHECK-LABEL: func.func @squares
// CHECK: scf.forall
// CHECK: scf.if
// CHECK:   %[[TILES:.*]] = arith.divui %{{.*}}, %c16384
// CHECK-COUNT-3: memref.alloc(%[[TILES]])
// CHECK:   %[[MEANS:.*]] = memref.alloc(%[[TILES]])
// CHECK:   scf.forall (%[[T:.*]]) in (%[[TILES]]) {
// CHECK:     linalg.generic {{.*}} iterator_types = ["reduction"]}
// CHECK:     %[[OWN:.*]] = memref.subview %[[MEANS]][%[[T]]]
// CHECK:     linalg.generic {{.*}} iterator_types = []} {{.*}} outs(%[[OWN]]
// CHECK:     linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%{{.*}}, %[[OWN]]
// CHECK:   linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%{{.*}}, %{{.*}}, %[[MEANS]], %{{.*}}
// CHECK:     linalg.index 0
// CHECK-NOT: scf.forall
// CHECK: return

// CHECK-LABEL: func.func @other_squares
// CHECK: scf.forall
// CHECK: scf.if
// CHECK:   scf.forall
// CHECK:   scf.forall
// CHECK: return
func.func @squares(%offsets: memref<?xi64>, %x: memref<?xf32>, %squares: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%b) in (%n) {
    %l = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %l : i64 to index
    %next = arith.addi %b, %c1 : index
    %h = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %h : i64 to index
    %length = arith.subi %high, %low : index
    %rows = memref.subview %x[%low] [%length] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %sum = memref.alloc() : memref<f32>
    %count = memref.alloc() : memref<f32>
    %mean = memref.alloc() : memref<f32>
    linalg.fill ins(%zero : f32) outs(%sum : memref<f32>)
    linalg.fill ins(%zero : f32) outs(%count : memref<f32>)
    linalg.generic {indexing_maps = [#rows, #none, #none], iterator_types = ["reduction"]}
        ins(%rows : memref<?xf32, strided<[1], offset: ?>>) outs(%sum, %count : memref<f32>, memref<f32>) {
    ^bb0(%a: f32, %s: f32, %c: f32):
      %one = arith.constant 1.0 : f32
      %0 = arith.addf %s, %a : f32
      %1 = arith.addf %c, %one : f32
      linalg.yield %0, %1 : f32, f32
    }
    linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = []}
        ins(%sum, %count : memref<f32>, memref<f32>) outs(%mean : memref<f32>) {
    ^bb0(%s: f32, %c: f32, %out: f32):
      %0 = arith.divf %s, %c : f32
      linalg.yield %0 : f32
    }
    %q = memref.subview %squares[%b] [1] [1] : memref<?xf32> to memref<f32, strided<[], offset: ?>>
    linalg.generic {indexing_maps = [#rows, #none, #none], iterator_types = ["reduction"]}
        ins(%rows, %mean : memref<?xf32, strided<[1], offset: ?>>, memref<f32>) outs(%q : memref<f32, strided<[], offset: ?>>) {
    ^bb0(%a: f32, %m: f32, %acc: f32):
      %0 = arith.subf %a, %m : f32
      %1 = arith.mulf %0, %0 : f32
      %2 = arith.addf %acc, %1 : f32
      linalg.yield %2 : f32
    }
  }
  return
}

func.func @other_squares(%offsets: memref<?xi64>, %x: memref<?xf32>, %squares: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%b) in (%n) {
    %l = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %l : i64 to index
    %next = arith.addi %b, %c1 : index
    %h = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %h : i64 to index
    %length = arith.subi %high, %low : index
    %rows = memref.subview %x[%low] [%length] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %sum = memref.alloc() : memref<f32>
    %count = memref.alloc() : memref<f32>
    %mean = memref.alloc() : memref<f32>
    linalg.fill ins(%zero : f32) outs(%sum : memref<f32>)
    linalg.fill ins(%zero : f32) outs(%count : memref<f32>)
    linalg.generic {indexing_maps = [#rows, #none, #none], iterator_types = ["reduction"]}
        ins(%rows : memref<?xf32, strided<[1], offset: ?>>) outs(%sum, %count : memref<f32>, memref<f32>) {
    ^bb0(%a: f32, %s: f32, %c: f32):
      %one = arith.constant 1.0 : f32
      %0 = arith.addf %s, %a : f32
      %1 = arith.addf %c, %one : f32
      linalg.yield %0, %1 : f32, f32
    }
    linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = []}
        ins(%sum, %count : memref<f32>, memref<f32>) outs(%mean : memref<f32>) {
    ^bb0(%s: f32, %c: f32, %out: f32):
      %0 = arith.divf %s, %c : f32
      linalg.yield %0 : f32
    }
    %q = memref.subview %squares[%b] [1] [1] : memref<?xf32> to memref<f32, strided<[], offset: ?>>
    linalg.generic {indexing_maps = [#rows, #none, #none], iterator_types = ["reduction"]}
        ins(%rows, %mean : memref<?xf32, strided<[1], offset: ?>>, memref<f32>) outs(%q : memref<f32, strided<[], offset: ?>>) {
    ^bb0(%a: f32, %m: f32, %acc: f32):
      %g = arith.mulf %a, %a : f32
      %0 = arith.subf %g, %m : f32
      %1 = arith.mulf %0, %0 : f32
      %2 = arith.addf %acc, %1 : f32
      linalg.yield %2 : f32
    }
  }
  return
}

// -----

// Exponentials of differences from a maximum are made from the maximum of each part, while its rows are in the cache, and
// corrected where they are read. Where something else reads them, rows are gone through twice.

#all = affine_map<(r, d) -> (r, d)>
#kept = affine_map<(r, d) -> (d)>
#same = affine_map<(d) -> (d)>

// CHECK-LABEL: func.func @softmax
// CHECK: scf.forall
// CHECK: scf.if
// CHECK:   %[[TILES:.*]] = arith.divui %{{.*}}, %c256
// CHECK:   %[[HIGHEST:.*]] = memref.alloc(%[[TILES]])
// CHECK:   %[[SUMS:.*]] = memref.alloc(%[[TILES]])
// CHECK:   %[[FACTORS:.*]] = memref.alloc(%[[TILES]])
// CHECK:   scf.forall (%[[T:.*]]) in (%[[TILES]]) {
// CHECK:     linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]}
// CHECK:     arith.maximumf
// CHECK:     %[[OWN:.*]] = memref.subview %[[FACTORS]][%[[T]], 0]
// CHECK:     linalg.generic {{.*}} iterator_types = ["parallel"]} {{.*}} outs(%[[OWN]]
// CHECK:     arith.select
// CHECK:     linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%{{.*}}, %[[OWN]]
// CHECK:     math.exp
// CHECK:   linalg.generic {{.*}} ins(%[[HIGHEST]], %{{.*}}) outs(%[[FACTORS]]
// CHECK:     arith.subf
// CHECK:     math.exp
// CHECK:   linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[SUMS]], %[[FACTORS]]
// CHECK:   scf.forall (%[[U:.*]]) in (%[[TILES]]) {
// CHECK:     %[[FACTOR:.*]] = memref.subview %[[FACTORS]][%[[U]], 0]
// CHECK:     linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%{{.*}}, %{{.*}}, %[[FACTOR]]
// CHECK:     ^bb0(%[[E:.*]]: f32, %[[S:.*]]: f32, %[[F:.*]]: f32, %{{.*}}: f32):
// CHECK:       %[[TRUE:.*]] = arith.mulf %[[E]], %[[F]]
// CHECK:       arith.divf %[[TRUE]], %[[S]]
// CHECK: return

// CHECK-LABEL: func.func @read_elsewhere
// CHECK: scf.forall
// CHECK: scf.if
// CHECK:   scf.forall
// CHECK-NOT: math.exp
// CHECK:   scf.forall
// CHECK:     math.exp
// CHECK: return
func.func @softmax(%offsets: memref<?xi64>, %x: memref<?x64xf32>, %y: memref<?x64xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  scf.forall (%b) in (%n) {
    %l = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %l : i64 to index
    %next = arith.addi %b, %c1 : index
    %h = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %h : i64 to index
    %length = arith.subi %high, %low : index
    %rows = memref.subview %x[%low, 0] [%length, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
    %out = memref.subview %y[%low, 0] [%length, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
    %m = memref.alloc() : memref<64xf32>
    %s = memref.alloc() : memref<64xf32>
    %e = memref.alloc(%length) : memref<?x64xf32>
    linalg.fill ins(%lowest : f32) outs(%m : memref<64xf32>)
    linalg.generic {indexing_maps = [#all, #kept], iterator_types = ["reduction", "parallel"]}
        ins(%rows : memref<?x64xf32, strided<[64, 1], offset: ?>>) outs(%m : memref<64xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %0 = arith.maximumf %acc, %a : f32
      linalg.yield %0 : f32
    }
    linalg.fill ins(%zero : f32) outs(%s : memref<64xf32>)
    linalg.generic {indexing_maps = [#all, #kept, #all, #kept], iterator_types = ["reduction", "parallel"]}
        ins(%rows, %m : memref<?x64xf32, strided<[64, 1], offset: ?>>, memref<64xf32>) outs(%e, %s : memref<?x64xf32>, memref<64xf32>) {
    ^bb0(%a: f32, %top: f32, %old: f32, %acc: f32):
      %0 = arith.subf %a, %top : f32
      %1 = math.exp %0 : f32
      %2 = arith.addf %acc, %1 : f32
      linalg.yield %1, %2 : f32, f32
    }
    linalg.generic {indexing_maps = [#all, #kept, #all], iterator_types = ["parallel", "parallel"]}
        ins(%e, %s : memref<?x64xf32>, memref<64xf32>) outs(%out : memref<?x64xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%a: f32, %sum: f32, %old: f32):
      %0 = arith.divf %a, %sum : f32
      linalg.yield %0 : f32
    }
  }
  return
}

func.func @read_elsewhere(%offsets: memref<?xi64>, %x: memref<?x64xf32>, %y: memref<?x64xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  scf.forall (%b) in (%n) {
    %l = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %l : i64 to index
    %next = arith.addi %b, %c1 : index
    %h = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %h : i64 to index
    %length = arith.subi %high, %low : index
    %rows = memref.subview %x[%low, 0] [%length, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
    %out = memref.subview %y[%low, 0] [%length, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
    %m = memref.alloc() : memref<64xf32>
    %s = memref.alloc() : memref<64xf32>
    %e = memref.alloc(%length) : memref<?x64xf32>
    linalg.fill ins(%lowest : f32) outs(%m : memref<64xf32>)
    linalg.generic {indexing_maps = [#all, #kept], iterator_types = ["reduction", "parallel"]}
        ins(%rows : memref<?x64xf32, strided<[64, 1], offset: ?>>) outs(%m : memref<64xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %0 = arith.maximumf %acc, %a : f32
      linalg.yield %0 : f32
    }
    linalg.fill ins(%zero : f32) outs(%s : memref<64xf32>)
    linalg.generic {indexing_maps = [#all, #kept, #all, #kept], iterator_types = ["reduction", "parallel"]}
        ins(%rows, %m : memref<?x64xf32, strided<[64, 1], offset: ?>>, memref<64xf32>) outs(%e, %s : memref<?x64xf32>, memref<64xf32>) {
    ^bb0(%a: f32, %top: f32, %old: f32, %acc: f32):
      %0 = arith.subf %a, %top : f32
      %1 = math.exp %0 : f32
      %2 = arith.addf %acc, %1 : f32
      linalg.yield %1, %2 : f32, f32
    }
    linalg.generic {indexing_maps = [#all, #kept], iterator_types = ["reduction", "parallel"]}
        ins(%e : memref<?x64xf32>) outs(%m : memref<64xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %0 = arith.maximumf %acc, %a : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [#all, #kept, #all], iterator_types = ["parallel", "parallel"]}
        ins(%e, %s : memref<?x64xf32>, memref<64xf32>) outs(%out : memref<?x64xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%a: f32, %sum: f32, %old: f32):
      %0 = arith.divf %a, %sum : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// -----

// A call that ends has computed little: of offsets that are an argument it is asked about first.

// CHECK-LABEL: func.func @map_before
// REFUSE-LABEL: func.func @map_before
// REFUSE: llvm.call @ragged_refuse_skew
// REFUSE: math.exp
// REFUSE: scf.forall
func.func @map_before(%offsets: memref<?xi64>, %x: memref<?xf32>, %e: memref<?xf32>, %sums: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = memref.dim %offsets, %c0 : memref<?xi64>
  %n = arith.subi %size, %c1 : index
  linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%e : memref<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  scf.forall (%b) in (%n) {
    %l = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %l : i64 to index
    %next = arith.addi %b, %c1 : index
    %h = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %h : i64 to index
    %length = arith.subi %high, %low : index
    %part = memref.subview %e[%low] [%length] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %sum = memref.subview %sums[%b] [1] [1] : memref<?xf32> to memref<f32, strided<[], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> ()>], iterator_types = ["reduction"]}
        ins(%part : memref<?xf32, strided<[1], offset: ?>>) outs(%sum : memref<f32, strided<[], offset: ?>>) {
    ^bb0(%a: f32, %acc: f32):
      %0 = arith.addf %acc, %a : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// -----

// But not before the checks, which may be of these offsets.

// CHECK-LABEL: func.func @check_before
// REFUSE-LABEL: func.func @check_before
// REFUSE-NOT: llvm.call
// REFUSE: func.call @ragged_report
// REFUSE: call @checks
// REFUSE: llvm.call @ragged_refuse_skew
// REFUSE: math.exp
// REFUSE: scf.forall
func.func private @ragged_report(i64, i64, i64, i64, i64)

func.func private @checks(%number: i64) {
  func.call @ragged_report(%number, %number, %number, %number, %number) : (i64, i64, i64, i64, i64) -> ()
  return
}

func.func @check_before(%offsets: memref<?xi64>, %x: memref<?xf32>, %e: memref<?xf32>, %sums: memref<?xf32>,
                        %number: i64, %some: i1) {
  %c1 = arith.constant 1 : index
  scf.if %some {
    func.call @ragged_report(%number, %number, %number, %number, %number) : (i64, i64, i64, i64, i64) -> ()
  }
  func.call @checks(%number) : (i64) -> ()
  linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%e : memref<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  scf.forall (%b) in (3) {
    %l = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %l : i64 to index
    %next = arith.addi %b, %c1 : index
    %h = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %h : i64 to index
    %length = arith.subi %high, %low : index
    %part = memref.subview %e[%low] [%length] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %sum = memref.subview %sums[%b] [1] [1] : memref<?xf32> to memref<f32, strided<[], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> ()>], iterator_types = ["reduction"]}
        ins(%part : memref<?xf32, strided<[1], offset: ?>>) outs(%sum : memref<f32, strided<[], offset: ?>>) {
    ^bb0(%a: f32, %acc: f32):
      %0 = arith.addf %acc, %a : f32
      linalg.yield %0 : f32
    }
  }
  return
}
