// RUN: ragged-opt %s --reuse-ragged-outs | FileCheck %s

#rows = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @f
// CHECK: scf.for
// CHECK-NOT: memref.alloc
// CHECK: %[[OUT:.*]] = memref.subview
// CHECK-NEXT: linalg.generic {{.*}} ins(%{{.*}} : memref<?xf32>) outs(%[[OUT]]
// CHECK: linalg.generic {{.*}} ins(%[[OUT]] : {{.*}}) outs(%[[OUT]]
func.func @f(%n: index, %count: index, %x: memref<?xf32>) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %result = memref.alloc(%count) : memref<?xf32>
  scf.for %i = %c0 to %count step %c1 {
    %t = memref.alloc(%n) : memref<?xf32>
    linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel"]} ins(%x : memref<?xf32>) outs(%t : memref<?xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    }
    %out = memref.subview %result[%i] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel"]} ins(%t : memref<?xf32>) outs(%out : memref<?xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %a : f32
      linalg.yield %s : f32
    }
  }
  return %result : memref<?xf32>
}

// What is in the result's place is read meanwhile: the temporary stays.
// CHECK-LABEL: func.func @read
// CHECK: %[[T:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: %[[T2:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: outs(%[[T2]]
func.func @read(%n: index, %count: index) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %result = memref.alloc(%count) : memref<?xf32>
  scf.for %i = %c0 to %count step %c1 {
    %t = memref.alloc(%n) : memref<?xf32>
    linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel"]} ins(%result : memref<?xf32>) outs(%t : memref<?xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    }
    %out = memref.subview %result[%i] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel"]} ins(%t : memref<?xf32>) outs(%out : memref<?xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    }
  }
  return %result : memref<?xf32>
}

// It has another extent than the result, or is read otherwise than element by element, or again later.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: ins(%{{.*}} : memref<?x4xf32>) outs(%{{.*}} : memref<?x4xf32>)
func.func @others(%n: index, %m: index, %count: index, %x: memref<?x4xf32>) -> (memref<?x4xf32>, memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %result = memref.alloc(%count) : memref<?x4xf32>
  %square = memref.alloc(%count, %count) : memref<?x?xf32>
  scf.for %i = %c0 to %count step %c1 {
    %longer = memref.alloc(%m) : memref<?x4xf32>
    linalg.copy ins(%x : memref<?x4xf32>) outs(%longer : memref<?x4xf32>)
    %out = memref.subview %result[%i, 0] [%n, 4] [1, 1] : memref<?x4xf32> to memref<?x4xf32, strided<[4, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%longer : memref<?x4xf32>) outs(%out : memref<?x4xf32, strided<[4, 1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    }
    %turned = memref.alloc(%n) : memref<?x4xf32>
    linalg.copy ins(%x : memref<?x4xf32>) outs(%turned : memref<?x4xf32>)
    %across = memref.subview %square[%i, 0] [4, %n] [1, 1] : memref<?x?xf32> to memref<4x?xf32, strided<[?, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%turned : memref<?x4xf32>) outs(%across : memref<4x?xf32, strided<[?, 1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    }
    %later = memref.alloc(%n) : memref<?x4xf32>
    linalg.copy ins(%x : memref<?x4xf32>) outs(%later : memref<?x4xf32>)
    %again = memref.subview %result[%i, 0] [%n, 4] [1, 1] : memref<?x4xf32> to memref<?x4xf32, strided<[4, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%later : memref<?x4xf32>) outs(%again : memref<?x4xf32, strided<[4, 1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    }
    linalg.copy ins(%later : memref<?x4xf32>) outs(%again : memref<?x4xf32, strided<[4, 1], offset: ?>>)
  }
  return %result, %square : memref<?x4xf32>, memref<?x?xf32>
}

// It is read element by element, and elsewhere too.
// CHECK-LABEL: func.func @twice
// CHECK: %[[T:.*]] = memref.alloc() : memref<4x4xf32>
// CHECK: linalg.generic {{.*}} ins(%[[T]], %[[T]]
func.func @twice(%count: index, %x: memref<4x4xf32>) -> memref<?x4xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %result = memref.alloc(%count) : memref<?x4xf32>
  scf.for %i = %c0 to %count step %c4 {
    %t = memref.alloc() : memref<4x4xf32>
    linalg.copy ins(%x : memref<4x4xf32>) outs(%t : memref<4x4xf32>)
    %out = memref.subview %result[%i, 0] [4, 4] [1, 1] : memref<?x4xf32> to memref<4x4xf32, strided<[4, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%t, %t : memref<4x4xf32>, memref<4x4xf32>) outs(%out : memref<4x4xf32, strided<[4, 1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.subf %a, %b : f32
      linalg.yield %s : f32
    }
  }
  return %result : memref<?x4xf32>
}

// What is in the result's place is added to.
// CHECK-LABEL: func.func @added
// CHECK: %[[OUT:.*]] = memref.subview
// CHECK: outs(%[[OUT]]
// CHECK: %[[T:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: outs(%[[T]]
// CHECK: ins(%[[T]] {{.*}} outs(%[[OUT]]
func.func @added(%n: index, %count: index, %x: memref<?xf32>) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %result = memref.alloc(%count) : memref<?xf32>
  scf.for %i = %c0 to %count step %c1 {
    %out = memref.subview %result[%i] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel"]} ins(%x : memref<?xf32>) outs(%out : memref<?xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    }
    %t = memref.alloc(%n) : memref<?xf32>
    linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel"]} ins(%x : memref<?xf32>) outs(%t : memref<?xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %a : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel"]} ins(%t : memref<?xf32>) outs(%out : memref<?xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    }
  }
  return %result : memref<?xf32>
}

// Nor where the op reads the result by another view.
// CHECK-LABEL: func.func @other_part
// CHECK: scf.for
// CHECK: %[[T:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: outs(%[[T]]
// CHECK: ins(%[[T]], {{.*}}) outs(
func.func @other_part(%n: index, %count: index, %x: memref<?xf32>) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %result = memref.alloc(%count) : memref<?xf32>
  scf.for %i = %c0 to %count step %c1 {
    %before = memref.subview %result[%c0] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %out = memref.subview %result[%i] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %t = memref.alloc(%n) : memref<?xf32>
    linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel"]} ins(%x : memref<?xf32>) outs(%t : memref<?xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %a : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel"]} ins(%t, %before : memref<?xf32>, memref<?xf32, strided<[1], offset: ?>>) outs(%out : memref<?xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %p: f32, %b: f32):
      %s = arith.addf %a, %p : f32
      linalg.yield %s : f32
    }
  }
  return %result : memref<?xf32>
}

// In a branch of the loop, and of the first rows of an allocation.
// CHECK-LABEL: func.func @first_rows
// CHECK: scf.if
// CHECK: %[[OUT:.*]] = memref.subview %{{.*}}[%{{.*}}, 0]
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<?x4xf32>) outs(%[[OUT]]
// CHECK-NEXT: ^bb0
// CHECK: linalg.generic {{.*}} ins(%[[OUT]] : {{.*}}) outs(%[[OUT]]
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @first_rows(%n: index, %count: index, %some: i1, %x: memref<?x4xf32>) -> memref<?x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %result = memref.alloc(%count) : memref<?x4xf32>
  scf.for %i = %c0 to %count step %c1 {
    scf.if %some {
      %t = memref.alloc() : memref<128x4xf32>
      %first = memref.subview %t[0, 0] [%n, 4] [1, 1] : memref<128x4xf32> to memref<?x4xf32, strided<[4, 1]>>
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x4xf32>) outs(%first : memref<?x4xf32, strided<[4, 1]>>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
      %out = memref.subview %result[%i, 0] [%n, 4] [1, 1] : memref<?x4xf32> to memref<?x4xf32, strided<[4, 1], offset: ?>>
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%first : memref<?x4xf32, strided<[4, 1]>>) outs(%out : memref<?x4xf32, strided<[4, 1], offset: ?>>) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %a : f32
        linalg.yield %s : f32
      }
    }
  }
  return %result : memref<?x4xf32>
}

// The op reads what is in the result's place: the temporary stays.
// CHECK-LABEL: func.func @in_place
// CHECK: %[[T:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: linalg.generic {{.*}} outs(%[[T]]
// CHECK: ins(%[[T]], %[[OUT:.*]] : {{.*}}) outs(%[[OUT]]
func.func @in_place(%n: index, %count: index, %x: memref<?xf32>, %result: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %count step %c1 {
    %t = memref.alloc(%n) : memref<?xf32>
    linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel"]} ins(%x : memref<?xf32>) outs(%t : memref<?xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    }
    %out = memref.subview %result[%i] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel"]} ins(%t, %out : memref<?xf32>, memref<?xf32, strided<[1], offset: ?>>) outs(%out : memref<?xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    }
  }
  return
}
