// RUN: ragged-opt %s --split-input-file --prefetch-ragged-rows --canonicalize --cse | FileCheck %s

// A row that comes 32 rows later, of 256 bytes, is asked for with all its lines and its last element, if the table has
// 512 KB; its number is behind the window, or the last one of the vector.

// CHECK-LABEL: func.func @bag
// CHECK-SAME: (%[[IDS:.*]]: memref<?xi64>, %[[TABLE:.*]]: memref<?x64xf32>, %[[OUT:.*]]: memref<64xf32>, %[[FIRST:.*]]: index, %[[N:.*]]: index)
// CHECK: %[[ROWS:.*]] = memref.dim %[[TABLE]], %c0
// CHECK: %[[LARGE:.*]] = arith.cmpi sge, %[[ROWS]], %c2048
// CHECK: scf.for %[[K:.*]] = %c0
// CHECK: scf.if %[[LARGE]] {
// CHECK: %[[LATER:.*]] = arith.addi %[[K]], %c32
// CHECK: %[[AT:.*]] = arith.addi %[[LATER]], %[[FIRST]]
// CHECK: %[[COUNT:.*]] = memref.dim %[[IDS]], %c0
// CHECK: %[[LAST:.*]] = arith.subi %[[COUNT]], %c1
// CHECK: %[[PLACE:.*]] = arith.minsi %[[AT]], %[[LAST]]
// CHECK: %[[NUMBER:.*]] = memref.load %[[IDS]][%[[PLACE]]]
// CHECK: %[[ROW:.*]] = arith.index_cast %[[NUMBER]]
// CHECK: memref.prefetch %[[TABLE]][%[[ROW]], %c0], read
// CHECK: memref.prefetch %[[TABLE]][%[[ROW]], %c16], read
// CHECK: memref.prefetch %[[TABLE]][%[[ROW]], %c32], read
// CHECK: memref.prefetch %[[TABLE]][%[[ROW]], %c48], read
// CHECK: memref.prefetch %[[TABLE]][%[[ROW]], %c63], read
// CHECK-NOT: prefetch
// CHECK: scf.for
func.func @bag(%ids: memref<?xi64>, %table: memref<?x64xf32>, %out: memref<64xf32>, %first: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %own = memref.subview %ids[%first] [%n] [1] : memref<?xi64> to memref<?xi64, strided<[1], offset: ?>>
  scf.for %k = %c0 to %n step %c1 {
    scf.for %f = %c0 to %c64 step %c1 {
      %number = memref.load %own[%k] : memref<?xi64, strided<[1], offset: ?>>
      %row = arith.index_cast %number : i64 to index
      %x = memref.load %table[%row, %f] : memref<?x64xf32>
      %s = memref.load %out[%f] : memref<64xf32>
      %r = arith.addf %s, %x : f32
      memref.store %r, %out[%f] : memref<64xf32>
    }
  }
  return
}

// -----

// Of a block of columns its own; two rows later.

// CHECK-LABEL: func.func @blocks
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %c1000 step %c512 {
// CHECK: scf.if
// CHECK: memref.prefetch %{{.*}}[%{{.*}}, %[[FIRST]]]
func.func @blocks(%ids: memref<?xi64>, %table: memref<?x1000xf64>, %out: memref<1000xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %c1000 = arith.constant 1000 : index
  scf.for %first = %c0 to %c1000 step %c512 {
    %next = arith.addi %first, %c512 : index
    %end = arith.minsi %next, %c1000 : index
    scf.for %k = %c0 to %n step %c1 {
      %number = memref.load %ids[%k] : memref<?xi64>
      %row = arith.index_cast %number : i64 to index
      scf.for %f = %first to %end step %c1 {
        %x = memref.load %table[%row, %f] : memref<?x1000xf64>
        memref.store %x, %out[%f] : memref<1000xf64>
      }
    }
  }
  return
}

// -----

// Rows of less than a line, next to each other, or numbers that other numbers tell, are left.

// CHECK-LABEL: func.func @short
// CHECK-NOT: prefetch
// CHECK-LABEL: func.func @next
// CHECK-NOT: prefetch
// CHECK-LABEL: func.func @twice
// CHECK-NOT: prefetch
func.func @short(%ids: memref<?xi64>, %table: memref<?x8xf32>, %out: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %k = %c0 to %n step %c1 {
    scf.for %f = %c0 to %c8 step %c1 {
      %number = memref.load %ids[%k] : memref<?xi64>
      %row = arith.index_cast %number : i64 to index
      %x = memref.load %table[%row, %f] : memref<?x8xf32>
      memref.store %x, %out[%f] : memref<8xf32>
    }
  }
  return
}

func.func @next(%scale: memref<f32>, %table: memref<?x64xf32>, %out: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %k = %c0 to %n step %c1 {
    scf.for %f = %c0 to %c64 step %c1 {
      %x = memref.load %table[%k, %f] : memref<?x64xf32>
      %s = memref.load %scale[] : memref<f32>
      %y = arith.mulf %x, %s : f32
      memref.store %y, %out[%f] : memref<64xf32>
    }
  }
  return
}

func.func @twice(%ids: memref<?xindex>, %table: memref<?x64xf32>, %out: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %k = %c0 to %n step %c1 {
    scf.for %f = %c0 to %c64 step %c1 {
      %number = memref.load %ids[%k] : memref<?xindex>
      %row = memref.load %ids[%number] : memref<?xindex>
      %x = memref.load %table[%row, %f] : memref<?x64xf32>
      memref.store %x, %out[%f] : memref<64xf32>
    }
  }
  return
}

// -----

// A number that is the same for all rows, elements of two numbers, and rows in a branch.

// CHECK-LABEL: func.func @number
// CHECK: memref.prefetch
// CHECK-LABEL: func.func @complex
// CHECK-NOT: prefetch
// CHECK-LABEL: func.func @branch
// CHECK-NOT: prefetch
// CHECK: return
func.func @number(%ids: memref<?xi64>, %table: memref<?x64xf32>, %scale: memref<f32>, %out: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %k = %c0 to %n step %c1 {
    scf.for %f = %c0 to %c64 step %c1 {
      %number = memref.load %ids[%k] : memref<?xi64>
      %row = arith.index_cast %number : i64 to index
      %x = memref.load %table[%row, %f] : memref<?x64xf32>
      %s = memref.load %scale[] : memref<f32>
      %r = arith.mulf %s, %x : f32
      memref.store %r, %out[%f] : memref<64xf32>
    }
  }
  return
}

func.func @complex(%ids: memref<?xi64>, %table: memref<?x64xcomplex<f32>>, %out: memref<64xcomplex<f32>>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %k = %c0 to %n step %c1 {
    scf.for %f = %c0 to %c64 step %c1 {
      %number = memref.load %ids[%k] : memref<?xi64>
      %row = arith.index_cast %number : i64 to index
      %x = memref.load %table[%row, %f] : memref<?x64xcomplex<f32>>
      memref.store %x, %out[%f] : memref<64xcomplex<f32>>
    }
  }
  return
}

func.func @branch(%ids: memref<?xi64>, %mask: memref<64xi1>, %table: memref<?x64x64xf32>, %out: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %k = %c0 to %n step %c1 {
    scf.for %f = %c0 to %c64 step %c1 {
      %c = memref.load %mask[%f] : memref<64xi1>
      %number = memref.load %ids[%k] : memref<?xi64>
      %row = arith.index_cast %number : i64 to index
      scf.if %c {
        %at = arith.remui %row, %c64 : index
        %x = memref.load %table[%row, %at, %f] : memref<?x64x64xf32>
        memref.store %x, %out[%f] : memref<64xf32>
      }
    }
  }
  return
}
