// RUN: ragged-opt %s --privatize-ragged-scratch | FileCheck %s

#id = affine_map<(i) -> (i)>
!part = memref<?xf32, strided<[1], offset: ?>>
!row = memref<4xf32, strided<[1], offset: ?>>

// The row of scratch that an iteration has for itself becomes an allocation in the body.
// CHECK-LABEL: func.func @rows
// CHECK: scf.forall
// CHECK:   %[[OWN:.*]] = memref.alloc() : memref<4xf32>
// CHECK:   memref.cast %[[OWN]]
// CHECK-NOT: memref.subview %{{.*}}[%{{.*}}, 0]
func.func @rows(%n: index, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %scratch = memref.alloc(%n) : memref<?x4xf32>
  scf.forall (%b) in (%n) {
    %part = memref.subview %scratch[%b, 0] [1, 4] [1, 1] : memref<?x4xf32> to !row
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%part : !row) {
    ^bb0(%o: f32):
      %0 = arith.addf %o, %o : f32
      linalg.yield %0 : f32
    }
    %v = memref.load %part[%c0] : !row
    memref.store %v, %y[%b] : memref<?xf32>
  }
  return
}

// What has a component's size, and is turned into a result of that size, is kept in the result.
// CHECK-LABEL: func.func @result
// CHECK-SAME: %{{.*}}: index, %{{.*}}: memref<?xindex>, %{{.*}}: memref<?xf32>, %[[Y:.*]]: memref<?xf32>)
// CHECK: scf.forall
// CHECK:   %[[OUT:.*]] = memref.subview %[[Y]][%{{.*}}] [%{{.*}}] [1]
// CHECK-NOT: memref.alloc
// CHECK:   linalg.generic {{.*}} outs(%[[OUT]]
// CHECK:   linalg.generic {{.*}} ins(%[[OUT]] : {{.*}}) outs(%[[OUT]]
// CHECK: return
func.func @result(%n: index, %o: memref<?xindex>, %x: memref<?xf32>, %y: memref<?xf32>) {
  scf.forall (%b) in (%n) {
    %low = memref.load %o[%b] : memref<?xindex>
    %xs = memref.subview %x[%low] [%n] [1] : memref<?xf32> to !part
    %ys = memref.subview %y[%low] [%n] [1] : memref<?xf32> to !part
    %t = memref.alloc(%n) : memref<?xf32>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%xs : !part) outs(%t : memref<?xf32>) {
    ^bb0(%u: f32, %out: f32):
      %0 = math.exp %u : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%t : memref<?xf32>) outs(%ys : !part) {
    ^bb0(%u: f32, %out: f32):
      %0 = arith.addf %u, %u : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// Scratch that is used elsewhere, and the bodies of balanced foralls, stay as they are.
// CHECK-LABEL: func.func @shared
// CHECK: %[[S:.*]] = memref.alloc(%{{.*}}) : memref<?x4xf32>
// CHECK: memref.subview %[[S]]
// CHECK: memref.subview %[[S]]
// CHECK: %[[T:.*]] = memref.alloc(%{{.*}}) : memref<?x4xf32>
// CHECK: memref.subview %[[T]]
func.func @shared(%n: index) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  %s = memref.alloc(%n) : memref<?x4xf32>
  scf.forall (%b) in (%n) {
    %part = memref.subview %s[%b, 0] [1, 4] [1, 1] : memref<?x4xf32> to !row
    memref.store %v, %part[%c0] : !row
  }
  scf.forall (%b) in (%n) {
    %part = memref.subview %s[%b, 0] [1, 4] [1, 1] : memref<?x4xf32> to !row
    memref.store %v, %part[%c0] : !row
  }
  %t = memref.alloc(%n) : memref<?x4xf32>
  scf.forall (%b) in (%n) {
    %part = memref.subview %t[%b, 0] [1, 4] [1, 1] : memref<?x4xf32> to !row
    memref.store %v, %part[%c0] : !row
  } {ragged.mapping = {schedule = "balanced"}}
  return
}
