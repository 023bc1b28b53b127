// RUN: ragged-opt %s --split-input-file --vectorize-ragged-loops="isa=avx512 report=true" --canonicalize --cse | FileCheck %s

// The end of a row is masked, and lanes are added as a tree. What is read with a mask is asked for early, line by line.

// CHECK-LABEL: func.func @sum
// CHECK-SAME: (%[[X:.*]]: memref<?xf32> {llvm.noalias}, %[[OUT:.*]]: memref<1xf32> {llvm.noalias}, %[[N:.*]]: index)
// CHECK: %[[WHOLE:.*]] = arith.andi %{{.*}}, %c-64
// CHECK: %[[LANES:.*]] = scf.for %[[I:.*]] = %c0 to %[[WHOLE]] step %c64 iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<64xf32>)
// CHECK: %[[AHEAD:.*]] = arith.addi %[[I]], %c2048
// CHECK: memref.prefetch %[[X]][%[[AHEAD]]], read, locality<3>, data
// CHECK-COUNT-3: memref.prefetch %[[X]]
// CHECK: %[[V:.*]] = vector.load %[[X]][%[[I]]]
// CHECK: arith.addf %[[ACC]], %[[V]] fastmath<reassoc> : vector<64xf32>
// CHECK: %[[SOME:.*]] = arith.cmpi slt, %[[WHOLE]], %[[N]]
// CHECK: scf.if %[[SOME]]
// CHECK: %[[LEFT:.*]] = arith.subi %[[N]], %[[WHOLE]]
// CHECK: arith.minsi %[[LEFT]], %c64
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: %[[R:.*]] = vector.maskedload %[[X]][%[[WHOLE]]], %[[MASK]]
// CHECK: %[[S:.*]] = arith.addf %[[LANES]], %[[R]] fastmath<reassoc> : vector<64xf32>
// CHECK: arith.select %[[MASK]], %[[S]], %[[LANES]]
// CHECK: arith.addf %{{.*}} : vector<32xf32>
// CHECK: arith.addf %{{.*}} : vector<1xf32>
// CHECK: memref.store %{{.*}}, %[[OUT]]
// CHECK-NEXT: return
func.func @sum(%x: memref<?xf32>, %out: memref<1xf32>, %n: index) attributes {ragged.kernel, arg_attrs = [{llvm.noalias}, {llvm.noalias}, {}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = memref.load %out[%c0] : memref<1xf32>
    %s = arith.addf %b, %a fastmath<reassoc> : f32
    memref.store %s, %out[%c0] : memref<1xf32>
  }
  return
}

// -----

// Rows that are looked up are not asked for early: the next one is elsewhere.

// CHECK-LABEL: func.func @looked_up
// CHECK-SAME: (%[[TABLE:.*]]: memref<?x64xf32>, %[[IDS:.*]]: memref<?xi64>, %[[OUT:.*]]: memref<64xf32>, %{{.*}}: index)
// CHECK-NOT: memref.prefetch %[[TABLE]]
// CHECK: vector.load %[[TABLE]]
// CHECK: arith.addf %{{.*}} : vector<64xf32>
func.func @looked_up(%table: memref<?x64xf32>, %ids: memref<?xi64>, %out: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c64 step %c1 {
      %id = memref.load %ids[%i] : memref<?xi64>
      %row = arith.index_cast %id : i64 to index
      %a = memref.load %table[%row, %k] : memref<?x64xf32>
      %b = memref.load %out[%k] : memref<64xf32>
      %s = arith.addf %b, %a fastmath<reassoc> : f32
      memref.store %s, %out[%k] : memref<64xf32>
    }
  }
  return
}

// -----

// A row of a multiple of a vector has no mask; what is the same for all elements stays a scalar; a count is a product.

// CHECK-LABEL: func.func @row
// CHECK-NOT: create_mask
// CHECK: %[[M:.*]] = memref.load %{{.*}}[%c0] : memref<1xf32>
// CHECK: %[[R:.*]] = math.sqrt %[[M]] : f32
// CHECK: %[[B:.*]] = vector.broadcast %[[R]] : f32 to vector<64xf32>
// CHECK: %[[D:.*]] = arith.divf %{{.*}}, %[[B]] : vector<64xf32>
// CHECK: vector.store %[[D]]
// CHECK: arith.addi %{{.*}}, %c64
// CHECK: return
func.func @row(%x: memref<64xf32>, %m: memref<1xf32>, %k: index) -> (index, memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %y = memref.alloc() : memref<64xf32>
  %count = scf.for %i = %c0 to %c64 step %c1 iter_args(%c = %k) -> (index) {
    %b = memref.load %m[%c0] : memref<1xf32>
    %r = math.sqrt %b : f32
    %a = memref.load %x[%i] : memref<64xf32>
    %d = arith.divf %a, %r : f32
    memref.store %d, %y[%i] : memref<64xf32>
    %next = arith.addi %c, %c1 : index
    scf.yield %next : index
  }
  return %count, %y : index, memref<64xf32>
}

// -----

// A maximum by comparison folds too.

// CHECK-LABEL: func.func @greatest
// CHECK: arith.cmpf ogt, %{{.*}} : vector<64xf32>
// CHECK: arith.cmpf ogt, %{{.*}} : vector<32xf32>
// CHECK: arith.cmpf ogt, %{{.*}} : f32
func.func @greatest(%x: memref<?xf32>, %n: index, %first: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = scf.for %i = %c0 to %n step %c1 iter_args(%b = %first) -> (f32) {
    %a = memref.load %x[%i] : memref<?xf32>
    %p = arith.cmpf ogt, %a, %b : f32
    %s = arith.select %p, %a, %b : f32
    scf.yield %s : f32
  }
  return %m : f32
}

// -----

// Sums in order, columns, and memory that other iterations may read stay as they are.

// CHECK-LABEL: func.func @scalar
// CHECK-NOT: vector
// CHECK: ragged.scalar = "what it carries"
// CHECK: ragged.scalar = "an access across memory"
// CHECK: ragged.scalar = "memory that may be one"
// CHECK: ragged.scalar = "its length"
// CHECK: ragged.scalar = "math.exp"
func.func @scalar(%x: memref<?xf32>, %z: memref<?x8xf32>, %n: index, %first: f32) -> (f32, memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %y = memref.alloc(%n) : memref<?xf32>
  %w = memref.subview %y[1] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: 1>>
  %m = scf.for %i = %c0 to %n step %c1 iter_args(%b = %first) -> (f32) {
    %a = memref.load %x[%i] : memref<?xf32>
    %s = arith.addf %a, %b : f32
    scf.yield %s : f32
  }
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %z[%i, %c0] : memref<?x8xf32>
    %s = arith.addf %a, %a : f32
    memref.store %s, %y[%i] : memref<?xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %y[%i] : memref<?xf32>
    %s = arith.addf %a, %a : f32
    memref.store %s, %w[%i] : memref<?xf32, strided<[1], offset: 1>>
  }
  scf.for %i = %c0 to %c4 step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %s = arith.addf %a, %a : f32
    memref.store %s, %y[%i] : memref<?xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %s = math.exp %a : f32
    memref.store %s, %y[%i] : memref<?xf32>
  }
  return %m, %y : f32, memref<?xf32>
}

// -----

// What there is so far: of the lanes of a register by steps of 1, 2, 4 and 8, then with the last lane of the one before.

// CHECK-LABEL: func.func @scan
// CHECK-SAME: (%[[X:[a-z0-9]*]]: memref<?xf32> {{.*}}, %[[Y:[a-z0-9]*]]: memref<?xf32>
// CHECK: %[[NOTHING:.*]] = arith.constant dense<-0.0{{.*}}> : vector<16xf32>
// CHECK: %[[FIRST:.*]] = vector.broadcast %{{.*}} : f32 to vector<16xf32>
// CHECK: %[[SO_FAR:.*]] = scf.for %[[I:.*]] = %c0 to %{{.*}} step %c16 iter_args(%[[ACC:.*]] = %[[FIRST]])
// CHECK: %[[V:.*]] = vector.load %[[X]][%[[I]]]
// CHECK: %[[MOVED:.*]] = vector.shuffle %[[NOTHING]], %[[V]] [0, 16, 17,
// CHECK: %[[ONE:.*]] = arith.addf %[[MOVED]], %[[V]] fastmath<reassoc>
// CHECK: vector.shuffle %[[NOTHING]], %[[ONE]] [0, 1, 16,
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 16,
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 16,
// CHECK: %[[SUMS:.*]] = arith.addf %[[ACC]], %{{.*}} fastmath<reassoc>
// CHECK: vector.store %[[SUMS]], %[[Y]][%[[I]]]
// CHECK: %[[LAST:.*]] = vector.extract %[[SUMS]][15]
// CHECK: %[[NEXT:.*]] = vector.broadcast %[[LAST]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
func.func @scan(%x: memref<?xf32> {llvm.noalias}, %y: memref<?xf32> {llvm.noalias}, %n: index, %first: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = scf.for %i = %c0 to %n step %c1 iter_args(%b = %first) -> (f32) {
    %a = memref.load %x[%i] : memref<?xf32>
    %s = arith.addf %b, %a fastmath<reassoc> : f32
    memref.store %s, %y[%i] : memref<?xf32>
    scf.yield %s : f32
  }
  return %m : f32
}

// What is so far without the element, and sums in order, stay as they are.

// CHECK-LABEL: func.func @other_scans
// CHECK-NOT: vector
// CHECK: ragged.scalar = "what it carries"
// CHECK: ragged.scalar = "what it carries"
func.func @other_scans(%x: memref<?xf32> {llvm.noalias}, %y: memref<?xf32> {llvm.noalias}, %n: index, %first: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = scf.for %i = %c0 to %n step %c1 iter_args(%b = %first) -> (f32) {
    %a = memref.load %x[%i] : memref<?xf32>
    %s = arith.addf %b, %a fastmath<reassoc> : f32
    memref.store %b, %y[%i] : memref<?xf32>
    scf.yield %s : f32
  }
  %k = scf.for %i = %c0 to %n step %c1 iter_args(%b = %m) -> (f32) {
    %a = memref.load %x[%i] : memref<?xf32>
    %s = arith.addf %b, %a : f32
    memref.store %s, %y[%i] : memref<?xf32>
    scf.yield %s : f32
  }
  return %k : f32
}

// -----

// Runs of at most four elements are stored side by side: of one by a store for all, of two by two, of four by four.

// CHECK-LABEL: func.func @runs
// CHECK-SAME: (%[[OFFSETS:.*]]: memref<?xi64>, %[[N:.*]]: index, %{{.*}}: index)
// CHECK: scf.for %[[I:.*]] = %c0 to %{{.*}} step %c8
// CHECK: %[[START:.*]] = vector.maskedload %[[OFFSETS]][%[[I]]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %c1
// CHECK: vector.maskedload %[[OFFSETS]][%[[NEXT]]]
// CHECK: %[[SHORT:.*]] = arith.cmpi ule
// CHECK: %[[ALL:.*]] = vector.reduction <and>, %[[SHORT]]
// CHECK: scf.if %[[ALL]]
// CHECK-COUNT-1: vector.compressstore
// CHECK: else
// CHECK: vector.reduction <and>
// CHECK: vector.shuffle {{.*}} [0, 0, 1, 1, 2, 2, 3, 3]
// CHECK-COUNT-2: vector.compressstore
// CHECK: else
// CHECK: vector.reduction <and>
// CHECK: vector.shuffle {{.*}} [0, 0, 0, 0, 1, 1, 1, 1]
// CHECK-COUNT-4: vector.compressstore
// CHECK: else
// CHECK: scf.for
// CHECK: vector.maskedstore
func.func @runs(%offsets: memref<?xi64>, %n: index, %m: index) -> memref<?xi64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ids = memref.alloc(%m) : memref<?xi64>
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %offsets[%i] : memref<?xi64>
    %start = arith.index_cast %a : i64 to index
    %next = arith.addi %i, %c1 : index
    %b = memref.load %offsets[%next] : memref<?xi64>
    %end = arith.index_cast %b : i64 to index
    %length = arith.subi %end, %start : index
    %run = memref.subview %ids[%start] [%length] [1] : memref<?xi64> to memref<?xi64, strided<[1], offset: ?>>
    %id = arith.index_cast %i : index to i64
    scf.for %j = %c0 to %length step %c1 {
      memref.store %id, %run[%j] : memref<?xi64, strided<[1], offset: ?>>
    }
  }
  return %ids : memref<?xi64>
}

// -----

// A copy is no call but where it is long; neither is one whose length is known.

// CHECK-LABEL: func.func @copy
// CHECK-SAME: %[[N:[a-z0-9]*]]: index)
// CHECK: %[[MANY:.*]] = arith.cmpi sge, %[[N]], %c256
// CHECK: scf.if %[[MANY]]
// CHECK: memref.store {{.*}} : memref<?xf32>
// CHECK: else
// CHECK: vector.store
// CHECK: vector.maskedstore
func.func @copy(%x: memref<?xf32> {llvm.noalias}, %y: memref<?xf32> {llvm.noalias}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    memref.store %a, %y[%i] : memref<?xf32>
  }
  return
}

// What falls is read from the last lane on, and turned round; at the end the mask is, too.

// CHECK-LABEL: func.func @turned
// CHECK-SAME: %[[LAST:[a-z0-9]*]]: index)
// CHECK: scf.for %[[I:.*]] = %c0
// CHECK: %[[AT:.*]] = arith.subi %[[LAST]], %[[I]]
// CHECK: %[[FROM:.*]] = arith.subi %[[AT]], %c63
// CHECK: %[[V:.*]] = vector.load %{{.*}}[%[[FROM]]]
// CHECK: vector.shuffle %[[V]], %{{.*}} [63, 62,
// CHECK: vector.store
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: %[[TURNED:.*]] = vector.shuffle %[[MASK]], %{{.*}} [15, 14,
// CHECK: %[[W:.*]] = vector.maskedload %{{.*}}, %[[TURNED]]
// CHECK: vector.shuffle %[[W]], %{{.*}} [15, 14,
// CHECK: vector.maskedstore %{{.*}}, %[[MASK]]
func.func @turned(%x: memref<?xf32> {llvm.noalias}, %y: memref<?xf32> {llvm.noalias}, %n: index, %last: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %at = arith.subi %last, %i : index
    %a = memref.load %x[%at] : memref<?xf32>
    memref.store %a, %y[%i] : memref<?xf32>
  }
  return
}

// So is what is written from the end on.

// CHECK-LABEL: func.func @stores_that_fall
// CHECK: %[[V:.*]] = vector.load
// CHECK: %[[TURNED:.*]] = vector.shuffle %[[V]], %{{.*}} [63, 62,
// CHECK: vector.store %[[TURNED]], %arg1
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: vector.maskedload %{{.*}}, %[[MASK]]
// CHECK: %[[TURNED_MASK:.*]] = vector.shuffle %[[MASK]], %{{.*}} [15, 14,
// CHECK: vector.maskedstore %{{.*}}, %[[TURNED_MASK]]
func.func @stores_that_fall(%x: memref<?xf32> {llvm.noalias}, %y: memref<?xf32> {llvm.noalias}, %n: index, %last: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m1 = arith.constant -1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %down = arith.muli %i, %m1 : index
    %at = arith.addi %last, %down : index
    memref.store %a, %y[%at] : memref<?xf32>
  }
  return
}

// Numbers of other types than index, buffers without strides, integers that vectors pack, those with signs, and scans of
// one value stay as they are; a loop that does nothing is none of vectors either.

// CHECK-LABEL: func.func @others
// CHECK-NOT: vector
// CHECK: ragged.scalar = "its layout"
// CHECK: ragged.scalar = "elements i24"
// CHECK: ragged.scalar = "elements ui8"
// CHECK: ragged.scalar = "a scan of one value"
// CHECK: scf.for %{{.*}} : i32
func.func @others(%x: memref<64xf32, affine_map<(d0) -> (d0 mod 8)>>, %y: memref<?xf32>, %a: memref<?xi24>, %b: memref<?xi24>,
                  %u: memref<?xui8>, %v: memref<?xui8>, %out: memref<2xi8>, %c: i8, %n: index, %m: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 {
    %e = memref.load %x[%i] : memref<64xf32, affine_map<(d0) -> (d0 mod 8)>>
    memref.store %e, %y[%i] : memref<?xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %e = memref.load %a[%i] : memref<?xi24>
    memref.store %e, %b[%i] : memref<?xi24>
  }
  scf.for %i = %c0 to %n step %c1 {
    %e = memref.load %u[%i] : memref<?xui8>
    memref.store %e, %v[%i] : memref<?xui8>
  }
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c, %t = %c) -> (i8, i8) {
    %p = arith.maxsi %s, %c : i8
    %q = arith.maxsi %p, %t : i8
    scf.yield %p, %q : i8, i8
  }
  memref.store %r#0, %out[%c0] : memref<2xi8>
  memref.store %r#1, %out[%c1] : memref<2xi8>
  scf.for %i = %c0 to %n step %c1 {
    memref.load %y[%c0] : memref<?xf32>
  }
  %k = scf.for %i = %i0 to %m step %i1 iter_args(%s = %i0) -> (i32) : i32 {
    %t = arith.xori %s, %i : i32
    scf.yield %t : i32
  }
  return %k : i32
}

// CHECK-LABEL: func.func @fill
// CHECK: scf.if
// CHECK: vector.maskedstore
func.func @fill(%y: memref<?xf32>, %n: index, %a: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    memref.store %a, %y[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func.func @row
// CHECK: vector.load
// CHECK: vector.store
func.func @row(%x: memref<?x64xf32> {llvm.noalias}, %y: memref<?x64xf32> {llvm.noalias}, %r: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %a = memref.load %x[%c0, %i] : memref<?x64xf32>
    memref.store %a, %y[%r, %i] : memref<?x64xf32>
  }
  return
}

// -----

// Nor is one of bfloat, of which LLVM makes no call.

// CHECK-LABEL: func.func @copy_of_bfloat
// CHECK-NOT: scf.if
// CHECK: vector.load {{.*}} vector<64xbf16>
// CHECK: vector.store {{.*}} vector<64xbf16>
// CHECK-NOT: memref.store
// CHECK: return
func.func @copy_of_bfloat(%x: memref<?xbf16> {llvm.noalias}, %y: memref<?xbf16> {llvm.noalias}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %0 = memref.load %x[%i] : memref<?xbf16>
    memref.store %0, %y[%i] : memref<?xbf16>
  }
  return
}

// -----

// Elements that no vector has, or whose width is not known, are copied one by one.

// CHECK-LABEL: func.func @complex
// CHECK-NOT: vector
// CHECK: return
func.func @complex(%x: memref<8xcomplex<f32>> {llvm.noalias}, %y: memref<8xcomplex<f32>> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %a = memref.load %x[%i] : memref<8xcomplex<f32>>
    memref.store %a, %y[%i] : memref<8xcomplex<f32>>
  }
  return
}

// -----

// What falls is read from the last lane on, and turned round; at the end the mask is, too.

// CHECK-LABEL: func.func @turned
// CHECK-SAME: %[[LAST:[a-z0-9]*]]: index)
// CHECK: scf.for %[[I:.*]] = %c0
// CHECK: %[[AT:.*]] = arith.subi %[[LAST]], %[[I]]
// CHECK: %[[FROM:.*]] = arith.subi %[[AT]], %c63
// CHECK: %[[V:.*]] = vector.load %{{.*}}[%[[FROM]]]
// CHECK: vector.shuffle %[[V]], %{{.*}} [63, 62,
// CHECK: vector.store
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: %[[TURNED:.*]] = vector.shuffle %[[MASK]], %{{.*}} [15, 14,
// CHECK: %[[W:.*]] = vector.maskedload %{{.*}}, %[[TURNED]]
// CHECK: vector.shuffle %[[W]], %{{.*}} [15, 14,
// CHECK: vector.maskedstore %{{.*}}, %[[MASK]]
func.func @turned(%x: memref<?xf32> {llvm.noalias}, %y: memref<?xf32> {llvm.noalias}, %n: index, %last: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %at = arith.subi %last, %i : index
    %a = memref.load %x[%at] : memref<?xf32>
    memref.store %a, %y[%i] : memref<?xf32>
  }
  return
}

// So is what is written from the end on.

// CHECK-LABEL: func.func @stores_that_fall
// CHECK: %[[V:.*]] = vector.load
// CHECK: %[[TURNED:.*]] = vector.shuffle %[[V]], %{{.*}} [63, 62,
// CHECK: vector.store %[[TURNED]], %arg1
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: vector.maskedload %{{.*}}, %[[MASK]]
// CHECK: %[[TURNED_MASK:.*]] = vector.shuffle %[[MASK]], %{{.*}} [15, 14,
// CHECK: vector.maskedstore %{{.*}}, %[[TURNED_MASK]]
func.func @stores_that_fall(%x: memref<?xf32> {llvm.noalias}, %y: memref<?xf32> {llvm.noalias}, %n: index, %last: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m1 = arith.constant -1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %down = arith.muli %i, %m1 : index
    %at = arith.addi %last, %down : index
    memref.store %a, %y[%at] : memref<?xf32>
  }
  return
}

// Numbers of other types than index, buffers without strides, integers that vectors pack, those with signs, and scans of
// one value stay as they are; a loop that does nothing is none of vectors either.

// CHECK-LABEL: func.func @others
// CHECK-NOT: vector
// CHECK: ragged.scalar = "its layout"
// CHECK: ragged.scalar = "elements i24"
// CHECK: ragged.scalar = "elements ui8"
// CHECK: ragged.scalar = "a scan of one value"
// CHECK: scf.for %{{.*}} : i32
func.func @others(%x: memref<64xf32, affine_map<(d0) -> (d0 mod 8)>>, %y: memref<?xf32>, %a: memref<?xi24>, %b: memref<?xi24>,
                  %u: memref<?xui8>, %v: memref<?xui8>, %out: memref<2xi8>, %c: i8, %n: index, %m: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 {
    %e = memref.load %x[%i] : memref<64xf32, affine_map<(d0) -> (d0 mod 8)>>
    memref.store %e, %y[%i] : memref<?xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %e = memref.load %a[%i] : memref<?xi24>
    memref.store %e, %b[%i] : memref<?xi24>
  }
  scf.for %i = %c0 to %n step %c1 {
    %e = memref.load %u[%i] : memref<?xui8>
    memref.store %e, %v[%i] : memref<?xui8>
  }
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c, %t = %c) -> (i8, i8) {
    %p = arith.maxsi %s, %c : i8
    %q = arith.maxsi %p, %t : i8
    scf.yield %p, %q : i8, i8
  }
  memref.store %r#0, %out[%c0] : memref<2xi8>
  memref.store %r#1, %out[%c1] : memref<2xi8>
  scf.for %i = %c0 to %n step %c1 {
    memref.load %y[%c0] : memref<?xf32>
  }
  %k = scf.for %i = %i0 to %m step %i1 iter_args(%s = %i0) -> (i32) : i32 {
    %t = arith.xori %s, %i : i32
    scf.yield %t : i32
  }
  return %k : i32
}

// CHECK-LABEL: func.func @fill
// CHECK-NOT: vector
// CHECK: return
func.func @fill(%x: f128, %y: memref<8xf128>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %x, %y[%i] : memref<8xf128>
  }
  return
}

// -----

// What a vector needs rarely is a call behind a branch, for the lanes that have an iteration, 16 at a time.

// CHECK-LABEL: func.func @guarded
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[END:.*]] step %c64 {
// CHECK: %[[X:.*]] = vector.load %{{.*}}[%[[I]]]
// CHECK: %[[USUAL:.*]] = arith.cmpf olt, %[[X]]
// CHECK: %[[RARE:.*]] = arith.xori %[[USUAL]]
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[RARE]] : vector<64xi1> into i1
// CHECK: %[[R:.*]] = scf.if %[[ANY]] -> (vector<64xf32>) {
// CHECK: %[[LOW:.*]] = vector.extract_strided_slice %[[X]] {offsets = [0], sizes = [16]
// CHECK: llvm.call @rare_v16(%[[LOW]], %{{.*}}) : (vector<16xf32>, vector<16xi1>) -> vector<16xf32>
// CHECK: llvm.call @rare_v16
// CHECK: arith.select %[[RARE]]
// CHECK: } else {
// CHECK: vector.store %[[R]], %{{.*}}[%[[I]]]
// CHECK: scf.for %[[J:.*]] = %[[END]] to %{{.*}} step %c16 {
// CHECK: %[[MASK:.*]] = vector.create_mask %{{.*}} : vector<16xi1>
// CHECK: %[[Y:.*]] = vector.maskedload %{{.*}}[%[[J]]], %[[MASK]]
// CHECK: %[[OTHER:.*]] = arith.xori
// CHECK: %[[LEFT:.*]] = arith.andi %[[OTHER]], %[[MASK]] : vector<16xi1>
// CHECK: llvm.call @rare_v16(%[[Y]], %[[LEFT]])
// CHECK: vector.maskedstore %{{.*}}[%[[J]]], %[[MASK]]
llvm.func @rare(f32) -> f32
llvm.func @rare_v16(vector<16xf32>, vector<16xi1>) -> vector<16xf32>
func.func @guarded(%x: memref<?xf32>, %n: index) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %limit = arith.constant 8.0 : f32
  %y = memref.alloc(%n) : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    %usual = arith.cmpf olt, %a, %limit : f32
    %r = scf.if %usual -> f32 {
      scf.yield %b : f32
    } else {
      %c = llvm.call @rare(%a) : (f32) -> f32
      scf.yield %c : f32
    } {ragged.guard}
    memref.store %r, %y[%i] : memref<?xf32>
  }
  return %y : memref<?xf32>
}

// -----

// Rows that are folded into one: this one is in registers, with a mask where it is no whole one, and is written once.
// What is added for every row is a product.

// CHECK-LABEL: func.func @columns
// CHECK: %[[MASK:.*]] = vector.constant_mask [12] : vector<16xi1>
// CHECK: %[[FIRST:.*]] = vector.maskedload %[[OUT:.*]][%c0], %[[MASK]]
// CHECK: %[[LAST:.*]] = scf.for %[[R:.*]] = %c0 to %[[N:.*]] step %c1 iter_args(%[[ROW:.*]] = %[[FIRST]]) -> (vector<16xf32>)
// CHECK:   %[[W:.*]] = memref.load %{{.*}}[%[[R]]]
// CHECK:   %[[X:.*]] = vector.maskedload %{{.*}}[%[[R]], %c0], %[[MASK]]
// CHECK:   vector.broadcast %[[W]]
// CHECK:   %[[NEXT:.*]] = arith.addf %[[ROW]], %{{.*}} fastmath<reassoc> : vector<16xf32>
// CHECK-NOT: store
// CHECK:   scf.yield %[[NEXT]]
// CHECK: vector.maskedstore %[[OUT]][%c0], %[[MASK]], %[[LAST]]
// CHECK: %[[ROWS:.*]] = arith.maxsi %[[N]], %c0
// CHECK: vector.broadcast %{{.*}} : i64 to vector<16xi64>
// CHECK: vector.maskedstore
// CHECK: return
func.func @columns(%x: memref<?x12xf32> {llvm.noalias}, %w: memref<?xf32> {llvm.noalias}, %out: memref<12xf32> {llvm.noalias},
                   %counts: memref<12xi64> {llvm.noalias}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c12 = arith.constant 12 : index
  %one = arith.constant 1 : i64
  scf.for %r = %c0 to %n step %c1 {
    %s = memref.load %w[%r] : memref<?xf32>
    scf.for %c = %c0 to %c12 step %c1 {
      %a = memref.load %x[%r, %c] : memref<?x12xf32>
      %b = memref.load %out[%c] : memref<12xf32>
      %k = memref.load %counts[%c] : memref<12xi64>
      %p = arith.mulf %a, %s : f32
      %t = arith.addf %b, %p fastmath<reassoc> : f32
      %l = arith.addi %k, %one : i64
      memref.store %t, %out[%c] : memref<12xf32>
      memref.store %l, %counts[%c] : memref<12xi64>
    }
  }
  return
}

// -----

// A register has several rows where they are short and lie side by side; halves are put together at the end.

// CHECK-LABEL: func.func @several
// CHECK: %[[ALL:.*]] = scf.for %[[R:.*]] = %c0 to %{{.*}} step %c8 iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<32xf32>)
// CHECK:   vector.create_mask
// CHECK:   vector.maskedload %{{.*}}[%[[R]], %c0]
// CHECK:   arith.maximumf {{.*}} : vector<32xf32>
// CHECK:   arith.select
// CHECK: arith.maximumf {{.*}} : vector<16xf32>
// CHECK: arith.maximumf {{.*}} : vector<8xf32>
// CHECK: arith.maximumf {{.*}} : vector<4xf32>
// CHECK: vector.load %[[OUT:.*]][%c0] : memref<4xf32>, vector<4xf32>
// CHECK: vector.store %{{.*}}, %[[OUT]][%c0]
// CHECK-NEXT: return
func.func @several(%x: memref<?x4xf32> {llvm.noalias}, %out: memref<4xf32> {llvm.noalias}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %r = %c0 to %n step %c1 {
    scf.for %c = %c0 to %c4 step %c1 {
      %a = memref.load %x[%r, %c] : memref<?x4xf32>
      %b = memref.load %out[%c] : memref<4xf32>
      %t = arith.maximumf %a, %b : f32
      memref.store %t, %out[%c] : memref<4xf32>
    }
  }
  return
}

// -----

// A copy of a static length is one of vectors. What writes is left to the processor to foresee.

// CHECK-LABEL: func.func @copy
// CHECK: scf.for %[[C:.*]] = %c0 to %c512 step %c64
// CHECK-NOT: prefetch
// CHECK: vector.load %{{.*}}[%{{.*}}, %[[C]]] : memref<?x512xf16>, vector<64xf16>
// CHECK: vector.store
func.func @copy(%x: memref<?x512xf16>, %y: memref<512xf16>, %r: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  scf.for %c = %c0 to %c512 step %c1 {
    %a = memref.load %x[%r, %c] : memref<?x512xf16>
    memref.store %a, %y[%c] : memref<512xf16>
  }
  return
}

// -----

// Rows that are too long for registers are kept in memory. Reading is all that such a loop does: it asks for memory early.

// CHECK-LABEL: func.func @wide
// CHECK: scf.for %[[R:.*]] = %c0 to %{{.*}} step %c1 {
// CHECK: scf.for %[[C:.*]] = %c0 to %c512 step %c64
// CHECK: %[[AHEAD:.*]] = arith.addi %[[C]], %c2048
// CHECK: memref.prefetch %[[X:.*]][%[[R]], %[[AHEAD]]], read
// CHECK: vector.load %[[X]][%[[R]], %[[C]]] : memref<?x512xf32>, vector<64xf32>
// CHECK: vector.store
// CHECK: return
func.func @wide(%x: memref<?x512xf32> {llvm.noalias}, %out: memref<512xf32> {llvm.noalias}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  scf.for %r = %c0 to %n step %c1 {
    scf.for %c = %c0 to %c512 step %c1 {
      %a = memref.load %x[%r, %c] : memref<?x512xf32>
      %b = memref.load %out[%c] : memref<512xf32>
      %t = arith.maximumf %b, %a : f32
      memref.store %t, %out[%c] : memref<512xf32>
    }
  }
  return
}

// -----

// A row that may be part of what is read, places of each row or further on, and a loop that reads what it folds stay loops
// over rows.

// CHECK-LABEL: func.func @others
// CHECK-NOT: iter_args
// CHECK: return
func.func @others(%x: memref<?x16xf32>, %out: memref<16xf32>, %y: memref<?x16xf32>, %z: memref<?x16xf32>,
                  %n: index) attributes {ragged.kernel, arg_attrs = [{}, {}, {llvm.noalias}, {llvm.noalias}, {}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %r = %c0 to %n step %c1 {
    scf.for %c = %c0 to %c16 step %c1 {
      %a = memref.load %x[%r, %c] : memref<?x16xf32>
      %b = memref.load %out[%c] : memref<16xf32>
      %t = arith.addf %b, %a : f32
      memref.store %t, %out[%c] : memref<16xf32>
    }
  }
  scf.for %r = %c0 to %n step %c1 {
    scf.for %c = %c0 to %c16 step %c1 {
      %a = memref.load %y[%r, %c] : memref<?x16xf32>
      %b = memref.load %z[%r, %c] : memref<?x16xf32>
      %t = arith.addf %b, %a : f32
      memref.store %t, %z[%r, %c] : memref<?x16xf32>
    }
  }
  scf.for %r = %c0 to %n step %c1 {
    %s = memref.load %z[%c0, %c0] : memref<?x16xf32>
    scf.for %c = %c0 to %c16 step %c1 {
      %b = memref.load %z[%c0, %c] : memref<?x16xf32>
      %t = arith.addf %b, %s : f32
      memref.store %t, %z[%c0, %c] : memref<?x16xf32>
    }
  }
  scf.for %r = %c0 to %n step %c1 {
    scf.for %c = %c0 to %c16 step %c1 {
      %next = arith.addi %c, %c1 : index
      %a = memref.load %y[%r, %c] : memref<?x16xf32>
      %b = memref.load %z[%c0, %next] : memref<?x16xf32>
      %t = arith.addf %b, %a : f32
      memref.store %t, %z[%c0, %next] : memref<?x16xf32>
    }
  }
  return
}

// -----

// Rows of one register have a way of their own where registers without elements cost more than a branch that is guessed
// wrongly: maxima keep NaN.

// CHECK-LABEL: func.func @maxima
// CHECK: scf.for
// CHECK: %[[N:.*]] = arith.subi
// CHECK: %[[FEW:.*]] = arith.cmpi sle, %[[N]], %c16
// CHECK: scf.if %[[FEW]] -> (f32) {
// CHECK-NOT: scf.for
// CHECK: vector.create_mask %{{.*}} : vector<16xi1>
// CHECK: arith.maximumf %{{.*}} : vector<1xf32>
// CHECK: } else {
// CHECK: scf.for %{{.*}} step %c64 iter_args
// CHECK: arith.maximumf %{{.*}} : vector<64xf32>
// CHECK: return

// Sums alone do not; beside other loops over the row, whose branch goes the same way, they do.

// CHECK-LABEL: func.func @sums
// CHECK-NOT: -> (f32)
// LLVM is told to unroll neither a loop of vectors nor one around another.
// CHECK: scf.yield %{{.*}} : vector<64xf32>
// CHECK-NEXT: } {llvm.loop_annotation = #{{.*}}}
// CHECK: } {llvm.loop_annotation = #{{.*}}}
// CHECK-NEXT: return

// CHECK-LABEL: func.func @both
// CHECK-COUNT-2: scf.if %{{.*}} -> (f32)
// CHECK: return
func.func @maxima(%x: memref<?xf32>, %offsets: memref<?xindex>, %out: memref<?xf32>, %first: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %r = %c0 to %n step %c1 {
    %low = memref.load %offsets[%r] : memref<?xindex>
    %next = arith.addi %r, %c1 : index
    %high = memref.load %offsets[%next] : memref<?xindex>
    %m = scf.for %i = %low to %high step %c1 iter_args(%b = %first) -> (f32) {
      %a = memref.load %x[%i] : memref<?xf32>
      %s = arith.maximumf %b, %a : f32
      scf.yield %s : f32
    }
    memref.store %m, %out[%r] : memref<?xf32>
  }
  return
}

func.func @sums(%x: memref<?xf32>, %offsets: memref<?xindex>, %out: memref<?xf32>, %first: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %r = %c0 to %n step %c1 {
    %low = memref.load %offsets[%r] : memref<?xindex>
    %next = arith.addi %r, %c1 : index
    %high = memref.load %offsets[%next] : memref<?xindex>
    %m = scf.for %i = %low to %high step %c1 iter_args(%b = %first) -> (f32) {
      %a = memref.load %x[%i] : memref<?xf32>
      %s = arith.addf %b, %a fastmath<reassoc> : f32
      scf.yield %s : f32
    }
    memref.store %m, %out[%r] : memref<?xf32>
  }
  return
}

func.func @both(%x: memref<?xf32>, %offsets: memref<?xindex>, %out: memref<?xf32>, %first: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %r = %c0 to %n step %c1 {
    %low = memref.load %offsets[%r] : memref<?xindex>
    %next = arith.addi %r, %c1 : index
    %high = memref.load %offsets[%next] : memref<?xindex>
    %m = scf.for %i = %low to %high step %c1 iter_args(%b = %first) -> (f32) {
      %a = memref.load %x[%i] : memref<?xf32>
      %s = arith.maximumf %b, %a : f32
      scf.yield %s : f32
    }
    %t = scf.for %i = %low to %high step %c1 iter_args(%b = %m) -> (f32) {
      %a = memref.load %x[%i] : memref<?xf32>
      %s = arith.addf %b, %a fastmath<reassoc> : f32
      scf.yield %s : f32
    }
    memref.store %t, %out[%r] : memref<?xf32>
  }
  return
}

// -----

// Rows of three elements fill three registers, and are put together at the end. What is the same row for all rows is
// repeated, in the loop, as without rows there may be none; what is counted is not read.

// CHECK-LABEL: func.func @points
// CHECK: scf.for %[[R:.*]] = %c0 to %{{.*}} step %c16 iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: memref.load %[[MEAN:.*]][%c2] : memref<3xf32>
// CHECK: vector.shuffle {{.*}}[0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
// CHECK-NOT: vector<16xi64>
// CHECK: vector.maskedload %[[X:.*]][%[[R]], %c0]
// CHECK: vector.shuffle {{.*}}[1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]
// CHECK: vector.maskedload %[[X]][%[[R]], %c16]
// CHECK: vector.shuffle {{.*}}[2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]
// CHECK: vector.maskedload %[[X]][%[[R]], %c32]
// CHECK: scf.yield
// CHECK: arith.maximumf %{{.*}} : vector<32xf32>
// CHECK: arith.maximumf %{{.*}} : vector<16xf32>
// CHECK: arith.maximumf %{{.*}} : vector<8xf32>
// CHECK: arith.maximumf %{{.*}} : vector<4xf32>
// CHECK-COUNT-3: memref.store %{{.*}} : memref<3xf32>
// CHECK: return
func.func @points(%x: memref<?x3xf32> {llvm.noalias}, %mean: memref<3xf32> {llvm.noalias}, %out: memref<3xf32> {llvm.noalias},
                  %counts: memref<3xi64> {llvm.noalias}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1 : i64
  scf.for %r = %c0 to %n step %c1 {
    scf.for %c = %c0 to %c3 step %c1 {
      %a = memref.load %x[%r, %c] : memref<?x3xf32>
      %m = memref.load %mean[%c] : memref<3xf32>
      %b = memref.load %out[%c] : memref<3xf32>
      %k = memref.load %counts[%c] : memref<3xi64>
      %d = arith.subf %a, %m : f32
      %t = arith.maximumf %b, %d : f32
      %l = arith.addi %k, %one : i64
      memref.store %t, %out[%c] : memref<3xf32>
      memref.store %l, %counts[%c] : memref<3xi64>
    }
  }
  return
}

// The numbers of rows and of columns are vectors.

// CHECK-LABEL: func.func @numbers
// CHECK-DAG: %[[FURTHER:.*]] = arith.constant dense<[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]> : vector<16xindex>
// CHECK-DAG: %[[COLUMNS:.*]] = arith.constant dense<[0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]> : vector<16xi64>
// CHECK: scf.for %[[R:.*]] = %c0 to %{{.*}} step %c4
// CHECK: %[[FIRST:.*]] = vector.broadcast %[[R]] : index to vector<16xindex>
// CHECK: arith.addi %[[FIRST]], %[[FURTHER]]
// CHECK: arith.cmpi eq, %{{.*}}, %[[COLUMNS]] : vector<16xi64>
// CHECK: arith.minui
// CHECK: return
func.func @numbers(%x: memref<?x4xi64> {llvm.noalias}, %out: memref<4xi64> {llvm.noalias}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %no = arith.constant -1 : i64
  scf.for %r = %c0 to %n step %c1 {
    %i = arith.index_cast %r : index to i64
    scf.for %c = %c0 to %c4 step %c1 {
      %a = memref.load %x[%r, %c] : memref<?x4xi64>
      %b = memref.load %out[%c] : memref<4xi64>
      %k = arith.index_cast %c : index to i64
      %is = arith.cmpi eq, %a, %k : i64
      %at = arith.select %is, %i, %no : i64
      %t = arith.minui %b, %at : i64
      memref.store %t, %out[%c] : memref<4xi64>
    }
  }
  return
}

// -----

// Elements of 4 or 8 bytes at places that are looked up are gathered, a register at a time; others stay with scalars.

// CHECK-LABEL: func.func @gathered
// CHECK-SAME: (%[[T:.*]]: memref<?xf32> {llvm.noalias}, %[[IDS:.*]]: memref<?xindex>
// CHECK-DAG: %[[ALL:.*]] = arith.constant dense<true> : vector<8xi1>
// CHECK: scf.for %[[I:.*]] = %c0 to %{{.*}} step %c8 iter_args
// CHECK:   %[[AT:.*]] = vector.load %[[IDS]][%[[I]]] : memref<?xindex>, vector<8xindex>
// CHECK:   vector.gather %[[T]][%c0] [%[[AT]]], %[[ALL]]
// CHECK:   arith.addf
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: vector.gather %[[T]][%c0] [%{{.*}}], %[[MASK]]
// CHECK: scf.for
// CHECK: memref.load %{{.*}} : memref<?xi16>
// CHECK: ragged.scalar = "an access across memory"
// CHECK: return
func.func @gathered(%t: memref<?xf32> {llvm.noalias}, %ids: memref<?xindex> {llvm.noalias}, %short: memref<?xi16> {llvm.noalias},
                    %out: memref<?xi16> {llvm.noalias}, %n: index, %first: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%so_far = %first) -> (f32) {
    %at = memref.load %ids[%i] : memref<?xindex>
    %a = memref.load %t[%at] : memref<?xf32>
    %s = arith.addf %so_far, %a fastmath<reassoc> : f32
    scf.yield %s : f32
  }
  scf.for %i = %c0 to %n step %c1 {
    %at = memref.load %ids[%i] : memref<?xindex>
    %a = memref.load %short[%at] : memref<?xi16>
    memref.store %a, %out[%i] : memref<?xi16>
  }
  return %sum : f32
}

// -----

// A search that halves what is left of a table: all lanes take the same steps, and each looks up its own place. What is
// left of the elements has a mask, which is that of what is looked up.

// CHECK-LABEL: func.func @search
// CHECK-SAME: (%[[T:.*]]: memref<?xf32> {llvm.noalias}, %[[X:.*]]: memref<?xf32> {llvm.noalias}
// CHECK-DAG: %[[ALL:.*]] = arith.constant dense<true> : vector<32xi1>
// CHECK: scf.for %[[I:.*]] = %c0 to %{{.*}} step %c32 {
// CHECK: %[[V:.*]] = vector.load %[[X]][%[[I]]] : memref<?xf32>, vector<32xf32>
// CHECK: %[[FOUND:.*]]:2 = scf.while (%[[LOW:.*]] = %{{.*}}, %[[SIZE:.*]] = %[[N:.*]]) : (vector<32xindex>, index)
// CHECK:   %[[SOME:.*]] = arith.cmpi sgt, %[[SIZE]], %c0 : index
// CHECK:   scf.condition(%[[SOME]])
// CHECK:   %[[HALF:.*]] = arith.ceildivui
// CHECK:   %[[AT:.*]] = arith.subi %{{.*}} : vector<32xindex>
// CHECK:   %[[HERE:.*]] = vector.gather %[[T]][%c0] [%[[AT]]], %[[ALL]]
// CHECK:   %[[LESS:.*]] = arith.cmpf olt, %[[HERE]], %[[V]] : vector<32xf32>
// CHECK:   arith.select %[[LESS]], %{{.*}} : vector<32xi1>, vector<32xindex>
// CHECK: vector.store %[[FOUND]]#0
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: vector.gather %[[T]][%c0] [%{{.*}}], %[[MASK]]
// CHECK: return

// What lanes have of a number from outside is made in the loop and behind it.

// CHECK-LABEL: func.func @behind
// CHECK: scf.while
// CHECK:   %[[IN:.*]] = vector.broadcast %[[BOUND:.*]] : index to vector<32xindex>
// CHECK:   arith.minui %{{.*}}, %[[IN]]
// CHECK: %[[BEHIND:.*]] = vector.broadcast %[[BOUND]] : index to vector<32xindex>
// CHECK: arith.subi %[[BEHIND]], %{{.*}}
// CHECK: return

// What is the same for all lanes may come first, and a table of one number is read once a step.

// CHECK-LABEL: func.func @first
// CHECK: %[[FOUND:.*]]:2 = scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (index, vector<32xindex>)
// CHECK:   memref.load %arg0[] : memref<index>
// CHECK: vector.store %[[FOUND]]#1
// CHECK: return

// Iterations that end apart, tables that are written, rows that vary, and loops without results are left as they are.

// CHECK-LABEL: func.func @apart
// CHECK: ragged.scalar = "a loop in it"
// CHECK-LABEL: func.func @written
// CHECK: ragged.scalar = "memory that may be one"
// CHECK-LABEL: func.func @rows
// CHECK: ragged.scalar = "an access across memory"
// CHECK-LABEL: func.func @no_results
// CHECK: ragged.scalar = "a loop in it"
func.func @search(%t: memref<?xf32>, %x: memref<?xf32>, %y: memref<?xindex>, %n: index, %size: index) attributes {ragged.kernel, arg_attrs = [{llvm.noalias}, {llvm.noalias}, {llvm.noalias}, {}, {}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    %found:2 = scf.while (%low = %c0, %left = %size) : (index, index) -> (index, index) {
      %some = arith.cmpi sgt, %left, %c0 : index
      scf.condition(%some) %low, %left : index, index
    } do {
    ^bb0(%low: index, %left: index):
      %half = arith.ceildivui %left, %c2 : index
      %above = arith.addi %low, %half : index
      %at = arith.subi %above, %c1 : index
      %here = memref.load %t[%at] : memref<?xf32>
      %less = arith.cmpf olt, %here, %v : f32
      %next = arith.select %less, %above, %low : index
      %rest = arith.subi %left, %half : index
      scf.yield %next, %rest : index, index
    }
    memref.store %found#0, %y[%i] : memref<?xindex>
  }
  return
}

func.func @behind(%x: memref<?xindex>, %y: memref<?xindex>, %n: index, %size: index, %bound: index) attributes {ragged.kernel, arg_attrs = [{llvm.noalias}, {llvm.noalias}, {}, {}, {}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xindex>
    %found:2 = scf.while (%at = %v, %left = %size) : (index, index) -> (index, index) {
      %some = arith.cmpi sgt, %left, %c0 : index
      scf.condition(%some) %at, %left : index, index
    } do {
    ^bb0(%at: index, %left: index):
      %more = arith.addi %at, %v : index
      %next = arith.minui %more, %bound : index
      %rest = arith.subi %left, %c1 : index
      scf.yield %next, %rest : index, index
    }
    %less = arith.subi %bound, %found#0 : index
    memref.store %less, %y[%i] : memref<?xindex>
  }
  return
}

func.func @first(%t: memref<index>, %y: memref<?xindex>, %n: index) attributes {ragged.kernel, arg_attrs = [{llvm.noalias}, {llvm.noalias}, {}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c1 {
    %found:2 = scf.while (%left = %c2, %at = %i) : (index, index) -> (index, index) {
      %some = arith.cmpi sgt, %left, %c0 : index
      scf.condition(%some) %left, %at : index, index
    } do {
    ^bb0(%left: index, %at: index):
      %by = memref.load %t[] : memref<index>
      %rest = arith.subi %left, %c1 : index
      %next = arith.muli %at, %by : index
      scf.yield %rest, %next : index, index
    }
    memref.store %found#1, %y[%i] : memref<?xindex>
  }
  return
}

func.func @apart(%x: memref<?xindex>, %y: memref<?xindex>, %n: index) attributes {ragged.kernel, arg_attrs = [{llvm.noalias}, {llvm.noalias}, {}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xindex>
    %found = scf.while (%left = %v) : (index) -> index {
      %some = arith.cmpi sgt, %left, %c0 : index
      scf.condition(%some) %left : index
    } do {
    ^bb0(%left: index):
      %rest = arith.subi %left, %c1 : index
      scf.yield %rest : index
    }
    memref.store %found, %y[%i] : memref<?xindex>
  }
  return
}

func.func @written(%t: memref<?xindex>, %x: memref<?xindex>, %n: index, %size: index) attributes {ragged.kernel, arg_attrs = [{llvm.noalias}, {llvm.noalias}, {}, {}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xindex>
    %found:2 = scf.while (%at = %v, %left = %size) : (index, index) -> (index, index) {
      %some = arith.cmpi sgt, %left, %c0 : index
      scf.condition(%some) %at, %left : index, index
    } do {
    ^bb0(%at: index, %left: index):
      %next = memref.load %t[%at] : memref<?xindex>
      %rest = arith.subi %left, %c1 : index
      scf.yield %next, %rest : index, index
    }
    memref.store %found#0, %t[%i] : memref<?xindex>
  }
  return
}

func.func @rows(%t: memref<?x4xindex>, %x: memref<?xindex>, %y: memref<?xindex>, %n: index, %size: index) attributes {ragged.kernel, arg_attrs = [{llvm.noalias}, {llvm.noalias}, {llvm.noalias}, {}, {}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xindex>
    %found:2 = scf.while (%at = %v, %left = %size) : (index, index) -> (index, index) {
      %some = arith.cmpi sgt, %left, %c0 : index
      scf.condition(%some) %at, %left : index, index
    } do {
    ^bb0(%at: index, %left: index):
      %next = memref.load %t[%i, %at] : memref<?x4xindex>
      %rest = arith.subi %left, %c1 : index
      scf.yield %next, %rest : index, index
    }
    memref.store %found#0, %y[%i] : memref<?xindex>
  }
  return
}

func.func @no_results(%y: memref<?xindex>, %n: index, %flag: i1) attributes {ragged.kernel, arg_attrs = [{llvm.noalias}, {}, {}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.while : () -> () {
      scf.condition(%flag)
    } do {
      scf.yield
    }
    memref.store %i, %y[%i] : memref<?xindex>
  }
  return
}

// -----

// A fold of booleans ends where one is false.
// CHECK-LABEL: func.func @all
// CHECK: scf.while (%{{.*}} = %c0{{.*}}, %[[V:.*]] = %{{.*}}) : (index, vector<64xi1>) -> (index, vector<64xi1>) {
// CHECK: %[[OPEN:.*]] = vector.reduction <and>, %[[V]] : vector<64xi1> into i1
// CHECK: %[[GOES:.*]] = arith.andi %{{.*}}, %[[OPEN]] : i1
// CHECK: scf.condition(%[[GOES]])
// CHECK: scf.for {{.*}} -> (vector<64xi1>) {
// CHECK: arith.andi %{{.*}}, %{{.*}} : vector<64xi1>
// CHECK: return
func.func @all(%x: memref<?xf32> {llvm.noalias}, %all: memref<i1> {llvm.noalias}, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %p = arith.cmpf ogt, %a, %zero : f32
    %s = memref.load %all[] : memref<i1>
    %r = arith.andi %s, %p : i1
    memref.store %r, %all[] : memref<i1>
  }
  return
}

// -----

// A copy of every second element, or of places in a component, is one of scalars: what is near is read faster one by
// one. What is computed of them is one of vectors.
// CHECK-LABEL: func.func @steps
// CHECK-NOT: vector.gather
// CHECK: ragged.scalar = "a copy in another order"
// CHECK: ragged.scalar = "a copy in another order"
// CHECK: vector.gather
// CHECK: return
func.func @steps(%x: memref<?xf32> {llvm.noalias}, %at: memref<?xindex> {llvm.noalias}, %y: memref<?xf32> {llvm.noalias}, %z: memref<?xf32> {llvm.noalias},
                 %start: index, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c1 {
    %k = arith.muli %i, %c2 : index
    %p = arith.addi %start, %k : index
    %a = memref.load %x[%p] : memref<?xf32>
    memref.store %a, %y[%i] : memref<?xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %k = memref.load %at[%i] : memref<?xindex>
    %p = arith.addi %start, %k : index
    %a = memref.load %x[%p] : memref<?xf32>
    memref.store %a, %y[%i] : memref<?xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %k = memref.load %at[%i] : memref<?xindex>
    %p = arith.addi %start, %k : index
    %a = memref.load %x[%p] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %b, %z[%i] : memref<?xf32>
  }
  return
}
