// RUN: ragged-opt %s --split-input-file --vectorize-ragged-loops="isa=avx512 report=true" --canonicalize --cse | FileCheck %s
// RUN: ragged-opt %s --split-input-file --vectorize-ragged-loops="isa=sse report=true" --canonicalize --cse | FileCheck %s --check-prefix=SSE

// Rows of three elements lie side by side in three vectors. What is written of them is masked at the end only, what they
// are folded into stays in registers.

// CHECK-LABEL: func.func @powers
// CHECK-SAME: (%[[X:.*]]: memref<?x3xf32> {llvm.noalias}, %[[TOP:.*]]: memref<3xf32> {llvm.noalias}, %[[SUM:.*]]: memref<3xf32> {llvm.noalias}, %[[Y:.*]]: memref<?x3xf32>
// CHECK: %[[WHOLE:.*]]:3 = scf.for %[[I:.*]] = %c0 to %[[END:.*]] step %c16 iter_args
// CHECK: memref.load %[[TOP]]
// CHECK: %[[T:.*]] = vector.shuffle %{{.*}} [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
// CHECK: %[[A:.*]] = vector.load %[[X]][%[[I]], %c0]
// CHECK: %[[D:.*]] = arith.subf %[[A]], %[[T]] : vector<16xf32>
// CHECK: arith.addf %{{.*}}, %[[D]]
// CHECK: vector.store %[[D]], %[[Y]][%[[I]], %c0]
// CHECK-NOT: memref.store %{{.*}}, %[[SUM]]
// CHECK: scf.for %{{.*}} = %[[END]] to %{{.*}} step %c16 iter_args(%{{.*}} = %[[WHOLE]]#0
// CHECK: vector.maskedstore %[[Y]]
// CHECK-COUNT-3: memref.store %{{.*}}, %[[SUM]]
// CHECK-NEXT: return
func.func @powers(%x: memref<?x3xf32> {llvm.noalias}, %top: memref<3xf32> {llvm.noalias}, %sum: memref<3xf32> {llvm.noalias}, %y: memref<?x3xf32> {llvm.noalias}, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c3 step %c1 {
      %a = memref.load %x[%i, %k] : memref<?x3xf32>
      %t = memref.load %top[%k] : memref<3xf32>
      %s = memref.load %sum[%k] : memref<3xf32>
      %d = arith.subf %a, %t : f32
      %r = arith.addf %s, %d fastmath<reassoc> : f32
      memref.store %d, %y[%i, %k] : memref<?x3xf32>
      memref.store %r, %sum[%k] : memref<3xf32>
    }
  }
  return
}

// -----

// What is kept of the rows so far is no sum of all of them: rows stay in their order.

// CHECK-LABEL: func.func @running
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: vector
// CHECK: return
func.func @running(%x: memref<?x3xf32> {llvm.noalias}, %sum: memref<3xf32> {llvm.noalias}, %y: memref<?x3xf32> {llvm.noalias}, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c3 step %c1 {
      %a = memref.load %x[%i, %k] : memref<?x3xf32>
      %s = memref.load %sum[%k] : memref<3xf32>
      %r = arith.addf %s, %a fastmath<reassoc> : f32
      memref.store %r, %y[%i, %k] : memref<?x3xf32>
      memref.store %r, %sum[%k] : memref<3xf32>
    }
  }
  return
}

// -----

// A vector has an element of each of eight rows: registers are taken apart, and put together again. Each row goes from
// column to column.

// CHECK-LABEL: func.func @columns
// CHECK-SAME: (%[[X:.*]]: memref<?x2xf64> {llvm.noalias}, %[[SUM:.*]]: memref<?xf64> {llvm.noalias}, %[[Y:.*]]: memref<?x2xf64> {llvm.noalias}, %[[N:.*]]: index)
// CHECK: scf.for %[[I:.*]] = %c0 to %[[N]] step %c8 {
// CHECK: %[[LEFT:.*]] = arith.subi %[[N]], %[[I]]
// CHECK: %[[WHOLE:.*]] = arith.cmpi sge, %[[LEFT]], %c8
// CHECK: %[[R:.*]]:2 = scf.if %[[WHOLE]]
// CHECK: vector.load %[[X]][%[[I]], %c0]
// CHECK: vector.load %[[X]][%[[I]], %c8]
// CHECK: else
// CHECK-COUNT-2: vector.maskedload %[[X]]
// CHECK: %[[ALL:.*]] = vector.shuffle %[[R]]#0, %[[R]]#1
// CHECK: %[[FIRST:.*]] = vector.shuffle %[[ALL]], %{{.*}} [0, 2, 4, 6, 8, 10, 12, 14]
// CHECK: %[[SECOND:.*]] = vector.shuffle %[[ALL]], %{{.*}} [1, 3, 5, 7, 9, 11, 13, 15]
// CHECK: %[[BEFORE:.*]] = scf.if %[[WHOLE]]
// CHECK: vector.load %[[SUM]][%[[I]]]
// CHECK: %[[S:.*]] = arith.addf %[[BEFORE]], %[[FIRST]] : vector<8xf64>
// CHECK: %[[T:.*]] = arith.addf %[[S]], %[[SECOND]] : vector<8xf64>
// CHECK: %[[BOTH:.*]] = vector.shuffle %[[S]], %[[T]]
// CHECK: %[[LOW:.*]] = vector.shuffle %[[BOTH]], %{{.*}} [0, 8, 1, 9, 2, 10, 3, 11]
// CHECK: scf.if %[[WHOLE]]
// CHECK: vector.store %[[LOW]], %[[Y]][%[[I]], %c0]
// CHECK: vector.store %[[T]], %[[SUM]][%[[I]]]
// CHECK: else
// CHECK-COUNT-2: vector.maskedstore %[[Y]]

// LLVM does that for registers of few rows.

// SSE-LABEL: func.func @columns
// SSE-NOT: vector.shuffle
// SSE: return
func.func @columns(%x: memref<?x2xf64> {llvm.noalias}, %sum: memref<?xf64> {llvm.noalias}, %y: memref<?x2xf64> {llvm.noalias}, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c2 step %c1 {
      %a = memref.load %x[%i, %k] : memref<?x2xf64>
      %s = memref.load %sum[%i] : memref<?xf64>
      %r = arith.addf %s, %a fastmath<reassoc> : f64
      memref.store %r, %y[%i, %k] : memref<?x2xf64>
      memref.store %r, %sum[%i] : memref<?xf64>
    }
  }
  return
}

// -----

// Lanes of bf16 are moved as integers.

// CHECK-LABEL: func.func @short_floats
// CHECK: vector.load %{{.*}} : memref<?x2xbf16>, vector<16xbf16>
// CHECK: arith.bitcast %{{.*}} : vector<16xbf16> to vector<16xi16>
// CHECK: vector.shuffle {{.*}} : vector<16xi16>, vector<16xi16>
// CHECK-NOT: vector.shuffle {{.*}}bf16
// CHECK: return
func.func @short_floats(%x: memref<?x2xbf16> {llvm.noalias}, %sum: memref<?xf32> {llvm.noalias}, %y: memref<?x2xbf16> {llvm.noalias}, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c2 step %c1 {
      %a = memref.load %x[%i, %k] : memref<?x2xbf16>
      %s = memref.load %sum[%i] : memref<?xf32>
      %w = arith.extf %a : bf16 to f32
      %r = arith.addf %s, %w fastmath<reassoc> : f32
      %b = arith.truncf %r : f32 to bf16
      memref.store %b, %y[%i, %k] : memref<?x2xbf16>
      memref.store %r, %sum[%i] : memref<?xf32>
    }
  }
  return
}

// -----

// Where there are many ops, they are in a loop over the columns, which are in memory.

// CHECK-LABEL: func.func @many_ops
// CHECK-SAME: (%[[X:.*]]: memref<?x12xf64> {llvm.noalias}, %[[SUM:.*]]: memref<?xf64>
// CHECK: %[[ROOM:.*]] = memref.alloca() {alignment = 64 : i64} : memref<12x8xf64>
// CHECK: scf.for %[[I:.*]] = %c0 to %{{.*}} step %c8
// CHECK-COUNT-12: vector.store %{{.*}}, %[[ROOM]]
// CHECK: %[[S:.*]] = scf.for %[[K:.*]] = %c0 to %c12 step %c1 iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (vector<8xf64>)
// CHECK: %[[A:.*]] = vector.load %[[ROOM]][%[[K]], %c0]
// CHECK: %[[T:.*]] = arith.addf %[[SO_FAR]], %[[G:.*]] : vector<8xf64>
// CHECK-NEXT: vector.store %[[G]], %[[ROOM]][%[[K]], %c0]
// CHECK-NEXT: scf.yield %[[T]]
// CHECK-COUNT-12: vector.load %[[ROOM]]
// CHECK: vector.store %{{.*}}, %[[X]][%[[I]], %c88]
// CHECK: vector.store %[[S]], %[[SUM]][%[[I]]]
func.func @many_ops(%x: memref<?x12xf64> {llvm.noalias}, %sum: memref<?xf64> {llvm.noalias}, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c12 = arith.constant 12 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c12 step %c1 {
      %a = memref.load %x[%i, %k] : memref<?x12xf64>
      %s = memref.load %sum[%i] : memref<?xf64>
      %b = arith.mulf %a, %a : f64
      %c = arith.mulf %b, %a : f64
      %d = arith.mulf %c, %a : f64
      %e = arith.mulf %d, %a : f64
      %f = arith.mulf %e, %a : f64
      %g = arith.mulf %f, %a : f64
      %r = arith.addf %s, %g fastmath<reassoc> : f64
      memref.store %g, %x[%i, %k] : memref<?x12xf64>
      memref.store %r, %sum[%i] : memref<?xf64>
    }
  }
  return
}

// -----

// Registers are not taken apart by large prime factors: a row has a vector of its own.

// CHECK-LABEL: func.func @primes
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c1 {
// CHECK-NEXT: vector.constant_mask [11] : vector<16xi1>
func.func @primes(%x: memref<?x11xf64> {llvm.noalias}, %sum: memref<?xf64> {llvm.noalias}, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c11 = arith.constant 11 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c11 step %c1 {
      %a = memref.load %x[%i, %k] : memref<?x11xf64>
      %s = memref.load %sum[%i] : memref<?xf64>
      %r = arith.addf %s, %a fastmath<reassoc> : f64
      memref.store %r, %sum[%i] : memref<?xf64>
    }
  }
  return
}

// -----

// Processors choose between lanes of integers.

// CHECK-LABEL: func.func @choice
// CHECK: arith.select %{{.*}} : vector<64xi1>, vector<64xi16>
// CHECK-NOT: vector<64xi1>, vector<64xbf16>
// CHECK: return
func.func @choice(%p: memref<?xi1> {llvm.noalias}, %x: memref<?xbf16> {llvm.noalias}, %y: memref<?xbf16> {llvm.noalias}, %n: index, %z: bf16) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %c = memref.load %p[%i] : memref<?xi1>
    %a = memref.load %x[%i] : memref<?xbf16>
    %b = arith.select %c, %a, %z : bf16
    memref.store %b, %y[%i] : memref<?xbf16>
  }
  return
}

// -----

// Integers are divided as floats that hold them.

// CHECK-LABEL: func.func @divisions
// CHECK: %[[A:.*]] = arith.sitofp %[[X:.*]] : vector<64xi32> to vector<64xf64>
// CHECK: %[[B:.*]] = arith.sitofp %[[Y:.*]] : vector<64xi32> to vector<64xf64>
// CHECK: %[[F:.*]] = arith.divf %[[A]], %[[B]] : vector<64xf64>
// CHECK: %[[Q:.*]] = arith.fptosi %[[F]] : vector<64xf64> to vector<64xi32>
// CHECK: %[[P:.*]] = arith.muli %[[Q]], %[[Y]]
// CHECK: arith.subi %[[X]], %[[P]]
func.func @divisions(%x: memref<?xi32> {llvm.noalias}, %y: memref<?xi32> {llvm.noalias}, %d: i32, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xi32>
    %r = arith.remsi %a, %d : i32
    memref.store %r, %y[%i] : memref<?xi32>
  }
  return
}

// -----

// Those of 64 bits twice, what the first quotient leaves again, where the processor converts them.

// CHECK-LABEL: func.func @long_divisions
// CHECK: %[[I:.*]] = arith.divf %{{.*}}, %{{.*}} : vector<32xf64>
// CHECK: %[[Q:.*]] = arith.fptosi %{{.*}} : vector<32xf64> to vector<32xi64>
// CHECK: %[[P:.*]] = arith.muli %[[Q]], %{{.*}} : vector<32xi64>
// CHECK: %[[L:.*]] = arith.subi %{{.*}}, %[[P]] : vector<32xi64>
// CHECK: arith.sitofp %[[L]] : vector<32xi64> to vector<32xf64>
// CHECK-NOT: arith.divsi
// CHECK: return

// SSE-LABEL: func.func @long_divisions
// SSE: arith.divsi %{{.*}} : vector<8xi64>
func.func @long_divisions(%x: memref<?xi64> {llvm.noalias}, %y: memref<?xi64> {llvm.noalias}, %d: i64, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xi64>
    %r = arith.divsi %a, %d : i64
    memref.store %r, %y[%i] : memref<?xi64>
  }
  return
}

// -----

// A vector has no more lanes than a mask has bits.

// CHECK-LABEL: func.func @bytes
// CHECK: scf.for %{{.*}} step %c64 iter_args(%{{.*}}) -> (vector<64xi8>)
func.func @bytes(%x: memref<?xi8> {llvm.noalias}, %out: memref<1xi8> {llvm.noalias}, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xi8>
    %b = memref.load %out[%c0] : memref<1xi8>
    %s = arith.maxsi %b, %a : i8
    memref.store %s, %out[%c0] : memref<1xi8>
  }
  return
}

// -----

// Without masks the rows that are left are done as they were, in the same order.

// SSE-LABEL: func.func @longer
// SSE-SAME: (%[[X:.*]]: memref<?x8xf32> {llvm.noalias}, %[[SUM:.*]]: memref<?xf32> {llvm.noalias}, %{{.*}}: memref<?x8xf32> {llvm.noalias}, %[[N:.*]]: index)
// SSE: %[[END:.*]] = arith.andi %{{.*}}, %c-4
// SSE: scf.for %{{.*}} = %c0 to %[[END]] step %c4
// SSE-NOT: masked
// SSE: scf.for %[[I:.*]] = %[[END]] to %[[N]] step %c1
// SSE: arith.addf %{{.*}}, %{{[0-9]+}} : f32
func.func @longer(%x: memref<?x8xf32> {llvm.noalias}, %sum: memref<?xf32> {llvm.noalias}, %y: memref<?x8xf32> {llvm.noalias}, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c8 step %c1 {
      %a = memref.load %x[%i, %k] : memref<?x8xf32>
      %s = memref.load %sum[%i] : memref<?xf32>
      %r = arith.addf %s, %a fastmath<reassoc> : f32
      memref.store %r, %y[%i, %k] : memref<?x8xf32>
      memref.store %r, %sum[%i] : memref<?xf32>
    }
  }
  return
}

// -----

// Functions of `math` have flags of `arith`.

// CHECK-LABEL: func.func @sizes
// CHECK: math.absf %{{.*}} fastmath<nnan> : vector<16xf32>
// SSE-LABEL: func.func @sizes
// SSE: math.absf %{{.*}} fastmath<nnan> : vector<4xf32>
// SSE: math.absf %{{.*}} fastmath<nnan> : f32
func.func @sizes(%x: memref<?x10xf32> {llvm.noalias}, %sum: memref<?xf32> {llvm.noalias}, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c10 step %c1 {
      %a = memref.load %x[%i, %k] : memref<?x10xf32>
      %s = memref.load %sum[%i] : memref<?xf32>
      %b = math.absf %a fastmath<nnan,reassoc> : f32
      %r = arith.addf %s, %b fastmath<reassoc> : f32
      memref.store %r, %sum[%i] : memref<?xf32>
    }
  }
  return
}

// -----

// Numbers that are computed of rows and columns are lanes, too.

// CHECK-LABEL: func.func @numbers
// CHECK-NOT: scf.for {{.*}} step %c1 {
// CHECK: vector.store
// CHECK: return
func.func @numbers(%y: memref<?x2xi64> {llvm.noalias}, %n: index, %first: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c1 {
    %j = arith.addi %first, %i : index
    %m = arith.muli %j, %c2 : index
    scf.for %k = %c0 to %c2 step %c1 {
      %s = arith.addi %m, %k : index
      %a = arith.index_cast %s : index to i64
      memref.store %a, %y[%i, %k] : memref<?x2xi64>
    }
  }
  return
}

// -----

// All pairs of two vectors: a register of columns goes along all rows, four of them where there are so many, and what
// they are folded into stays there.

// CHECK-LABEL: func.func @pairs
// CHECK-SAME: (%[[X:.*]]: memref<?xf32> {llvm.noalias}, %[[Y:.*]]: memref<?xf32> {llvm.noalias}, %[[OUT:.*]]: memref<?xf32> {llvm.noalias}, %[[N:.*]]: index, %[[M:.*]]: index)
// CHECK: %[[SOME:.*]] = arith.cmpi sgt, %[[N]], %c0
// CHECK: %[[COUNT:.*]] = arith.select %[[SOME]], %[[M]], %c0
// CHECK: scf.for %[[AT:.*]] = %c0 to %[[END:.*]] step %c64 {
// CHECK: vector.load %[[Y]][%[[AT]]]
// CHECK: vector.load %[[OUT]][%[[AT]]]
// CHECK: scf.for %[[I:.*]] = %c0 to %[[N]] step %c1 iter_args
// CHECK-NEXT: memref.load %[[X]][%[[I]]]
// CHECK-NOT: {{load|store}}
// CHECK: scf.yield
// CHECK: vector.store %{{.*}}, %[[OUT]][%[[AT]]]
// CHECK: scf.for %[[AT:.*]] = %[[END]] to %[[COUNT]] step %c16 {
// CHECK: vector.maskedstore %[[OUT]]

// SSE-LABEL: func.func @pairs
// SSE-NOT: iter_args
// SSE: return
func.func @pairs(%x: memref<?xf32> {llvm.noalias}, %y: memref<?xf32> {llvm.noalias}, %out: memref<?xf32> {llvm.noalias}, %n: index, %m: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %a = memref.load %x[%i] : memref<?xf32>
      %b = memref.load %y[%j] : memref<?xf32>
      %o = memref.load %out[%j] : memref<?xf32>
      %d = arith.subf %a, %b : f32
      %r = arith.minimumf %o, %d : f32
      memref.store %r, %out[%j] : memref<?xf32>
    }
  }
  return
}

// -----

// What is read of a row and a column is memory: rows stay one after the other.

// CHECK-LABEL: func.func @matrix
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c1 {
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK: return
func.func @matrix(%x: memref<?x?xf32> {llvm.noalias}, %out: memref<?xf32> {llvm.noalias}, %n: index, %m: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x?xf32>
      %o = memref.load %out[%j] : memref<?xf32>
      %r = arith.minimumf %o, %a : f32
      memref.store %r, %out[%j] : memref<?xf32>
    }
  }
  return
}

// -----

// So do rows of which each has its own length.

// CHECK-LABEL: func.func @triangle
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c1 {
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK: return
func.func @triangle(%x: memref<?xf32>, %y: memref<?xf32>, %out: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %y[%i] : memref<?xf32>
    scf.for %j = %c0 to %i step %c1 {
      %b = memref.load %x[%j] : memref<?xf32>
      %s = memref.load %out[%j] : memref<?xf32>
      %d = arith.mulf %a, %b : f32
      %r = arith.maximumf %s, %d : f32
      memref.store %r, %out[%j] : memref<?xf32>
    }
  }
  return
}

// -----

// Rows of several registers: the loop over rows carries them, and is not unrolled. Of one register LLVM may.

// CHECK-LABEL: func.func @several_registers
// CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<64xf32>) {
// CHECK: vector.load %{{.*}} : memref<?x64xf32>, vector<64xf32>
// CHECK: } {llvm.loop_annotation = #
// CHECK: return
func.func @several_registers(%x: memref<?x64xf32> {llvm.noalias}, %sum: memref<64xf32> {llvm.noalias}, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c64 step %c1 {
      %a = memref.load %x[%i, %k] : memref<?x64xf32>
      %s = memref.load %sum[%k] : memref<64xf32>
      %r = arith.addf %s, %a : f32
      memref.store %r, %sum[%k] : memref<64xf32>
    }
  }
  return
}

// -----

// CHECK-LABEL: func.func @one_register
// CHECK: -> (vector<16xf32>) {
// CHECK-NOT: llvm.loop_annotation
// CHECK: return
func.func @one_register(%x: memref<?x16xf32> {llvm.noalias}, %sum: memref<16xf32> {llvm.noalias}, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c16 step %c1 {
      %a = memref.load %x[%i, %k] : memref<?x16xf32>
      %s = memref.load %sum[%k] : memref<16xf32>
      %r = arith.addf %s, %a : f32
      memref.store %r, %sum[%k] : memref<16xf32>
    }
  }
  return
}

// Rows of three that are looked up: one in a register each, of which nothing is read beyond.
// CHECK-LABEL: func.func @looked_up
// CHECK: %[[MASK:.*]] = vector.constant_mask [3] : vector<4xi1>
// CHECK: scf.for {{.*}} -> (vector<4xf32>) {
// CHECK: vector.maskedload {{.*}}, %[[MASK]], {{.*}} : memref<?x3xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
// CHECK: return
// SSE-LABEL: func.func @looked_up
// SSE-NOT: vector
// SSE: return
func.func @looked_up(%x: memref<?x3xf32> {llvm.noalias}, %ids: memref<?xindex> {llvm.noalias}, %sum: memref<3xf32> {llvm.noalias}, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c3 step %c1 {
      %id = memref.load %ids[%i] : memref<?xindex>
      %a = memref.load %x[%id, %k] : memref<?x3xf32>
      %s = memref.load %sum[%k] : memref<3xf32>
      %r = arith.addf %s, %a : f32
      memref.store %r, %sum[%k] : memref<3xf32>
    }
  }
  return
}

// A fold of booleans ends where all columns are true.
// CHECK-LABEL: func.func @any_of_columns
// CHECK: %[[R:.*]]:2 = scf.while (%[[AT:.*]] = %c0{{.*}}, %[[V:.*]] = %{{.*}}) : (index, vector<16xi1>) -> (index, vector<16xi1>) {
// CHECK: arith.cmpi slt, %[[AT]], %{{.*}} : index
// CHECK: %[[ALL:.*]] = vector.reduction <and>, %[[V]] : vector<16xi1> into i1
// CHECK: arith.xori %[[ALL]]
// CHECK: scf.condition
// CHECK: scf.for {{.*}} -> (vector<16xi1>) {
// CHECK: arith.ori
// CHECK: return
func.func @any_of_columns(%x: memref<?x16xf32> {llvm.noalias}, %any: memref<16xi1> {llvm.noalias}, %n: index) attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c16 step %c1 {
      %a = memref.load %x[%i, %k] : memref<?x16xf32>
      %p = arith.cmpf ogt, %a, %zero : f32
      %s = memref.load %any[%k] : memref<16xi1>
      %r = arith.ori %s, %p : i1
      memref.store %r, %any[%k] : memref<16xi1>
    }
  }
  return
}

// The first row for which something holds is the last one of those from the end to the start: a choice for each row.
// CHECK-LABEL: func.func @first
// CHECK: %[[FOUND:.*]] = scf.for %[[I:.*]] = %[[LOW:.*]] to %[[HIGH:.*]] step %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<64xi64>)
// CHECK: %[[ROW:.*]] = arith.subi %{{.*}}, %[[I]] : index
// CHECK: vector.load %{{.*}}[%[[ROW]],
// CHECK: %[[NEW:.*]] = arith.select %{{.*}}, %{{.*}}, %[[ACC]] : vector<64xi1>, vector<64xi64>
// CHECK-NOT: arith.minui
// CHECK: scf.yield %[[NEW]]
func.func @first(%x: memref<?x64xf32>, %top: memref<64xf32>, %n: index, %out: memref<64xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant -1 : i64
  scf.for %i = %c0 to %n step %c1 {
    %row = arith.index_cast %i : index to i64
    scf.for %j = %c0 to %c64 step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x64xf32>
      %b = memref.load %top[%j] : memref<64xf32>
      %acc = memref.load %out[%j] : memref<64xi64>
      %same = arith.cmpf oeq, %a, %b : f32
      %here = arith.select %same, %row, %none : i64
      %first = arith.minui %acc, %here : i64
      memref.store %first, %out[%j] : memref<64xi64>
    }
  }
  return
}
