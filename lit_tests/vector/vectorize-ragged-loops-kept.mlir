// RUN: ragged-opt %s --split-input-file --vectorize-ragged-loops="isa=avx512 report=true" --canonicalize --cse | FileCheck %s
// RUN: ragged-opt %s --split-input-file --vectorize-ragged-loops=isa=avx2 --canonicalize --cse | FileCheck %s --check-prefix=AVX2

// What a mask keeps is stored side by side, as many lanes as are true further each time; the end is as it was.
// CHECK-LABEL: func.func @kept
// CHECK: %[[WHOLE:.*]] = arith.andi %{{.*}}, %c-16
// CHECK: %[[NEXT:.*]] = scf.for %[[I:.*]] = %c0 to %[[WHOLE]] step %c16 iter_args(%[[PLACE:.*]] = %{{.*}}) -> (index) {
// CHECK: %[[MASK:.*]] = vector.load %{{.*}}[%[[I]]] : memref<?xi1>, vector<16xi1>
// CHECK: %[[LANES:.*]] = vector.load %{{.*}}[%[[I]]] : memref<?xf32>, vector<16xf32>
// CHECK: vector.compressstore %{{.*}}[%[[PLACE]]], %[[MASK]], %{{.*}} : memref<?xf32>, vector<16xi1>, vector<16xf32>
// CHECK: %[[NUMBER:.*]] = vector.reduction <add>
// CHECK: arith.addi %[[PLACE]], %{{.*}} : index
// CHECK: scf.for %{{.*}} = %[[WHOLE]] to %{{.*}} step %c1 iter_args(%{{.*}} = %[[NEXT]]) -> (index) {
// CHECK: scf.if

// Without an instruction for it nothing is won.
// AVX2-LABEL: func.func @kept
// AVX2-NOT: compressstore
// AVX2: scf.if
// AVX2: return
func.func @kept(%mask: memref<?xi1> {llvm.noalias}, %x: memref<?xf32> {llvm.noalias}, %y: memref<?xf32> {llvm.noalias}, %n: index, %start: index) -> index attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%place = %start) -> (index) {
    %m = memref.load %mask[%i] : memref<?xi1>
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    scf.if %m {
      memref.store %b, %y[%place] : memref<?xf32>
    }
    %k = arith.index_castui %m : i1 to index
    %next = arith.addi %place, %k : index
    scf.yield %next : index
  }
  return %end : index
}

// -----

// Where the place that is written may be one that is read, where another number is counted, or the place is read, it is not.
// CHECK-LABEL: func.func @in_place
// CHECK-NOT: compressstore
// CHECK: ragged.scalar = "memory that may be one"
func.func @in_place(%mask: memref<?xi1> {llvm.noalias}, %x: memref<?xf32> {llvm.noalias}, %n: index, %start: index) -> index attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%place = %start) -> (index) {
    %m = memref.load %mask[%i] : memref<?xi1>
    %a = memref.load %x[%i] : memref<?xf32>
    scf.if %m {
      memref.store %a, %x[%place] : memref<?xf32>
    }
    %k = arith.index_castui %m : i1 to index
    %next = arith.addi %place, %k : index
    scf.yield %next : index
  }
  return %end : index
}

// CHECK-LABEL: func.func @other_number
// CHECK-NOT: compressstore
// CHECK: ragged.scalar = "what it carries"
func.func @other_number(%mask: memref<?xi1> {llvm.noalias}, %other: memref<?xi1> {llvm.noalias}, %y: memref<?xindex> {llvm.noalias}, %n: index) -> index attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%place = %c0) -> (index) {
    %m = memref.load %mask[%i] : memref<?xi1>
    %o = memref.load %other[%i] : memref<?xi1>
    scf.if %m {
      memref.store %i, %y[%place] : memref<?xindex>
    }
    %k = arith.index_castui %o : i1 to index
    %next = arith.addi %place, %k : index
    scf.yield %next : index
  }
  return %end : index
}

// CHECK-LABEL: func.func @place_is_read
// CHECK-NOT: compressstore
// CHECK: ragged.scalar = "what it carries"
func.func @place_is_read(%mask: memref<?xi1> {llvm.noalias}, %y: memref<?xindex> {llvm.noalias}, %n: index) -> index attributes {ragged.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%place = %c0) -> (index) {
    %m = memref.load %mask[%i] : memref<?xi1>
    scf.if %m {
      memref.store %place, %y[%place] : memref<?xindex>
    }
    %k = arith.index_castui %m : i1 to index
    %next = arith.addi %place, %k : index
    scf.yield %next : index
  }
  return %end : index
}
