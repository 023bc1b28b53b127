// RUN: ragged-opt %s --shorten-ragged-lifetimes | FileCheck %s

// What is used in a branch only is allocated before it, and freed behind it.
// CHECK-LABEL: func.func @branches
// CHECK: %[[A:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[A]]
// CHECK-NEXT: memref.load %[[A]]
// CHECK-NEXT: memref.dealloc %[[A]] :
// CHECK-NEXT: %[[B:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK-NEXT: scf.if
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[B]]
// CHECK: } else {
// CHECK: }
// CHECK-NEXT: memref.dealloc %[[B]] :
// CHECK-NEXT: return
func.func @branches(%n: index, %ok: i1, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %b = memref.alloc(%n) : memref<?xf32>
  %a = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%x : f32) outs(%a : memref<?xf32>)
  %z = memref.load %a[%c0] : memref<?xf32>
  %r = scf.if %ok -> (f32) {
    linalg.fill ins(%x : f32) outs(%b : memref<?xf32>)
    %y = memref.load %b[%c0] : memref<?xf32>
    scf.yield %y : f32
  } else {
    scf.yield %z : f32
  }
  memref.dealloc %a : memref<?xf32>
  memref.dealloc %b : memref<?xf32>
  return %r : f32
}

// Uses of views count; what is used in a loop is allocated before it, and freed behind it.
// CHECK-LABEL: func.func @outside
// CHECK: %[[A:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK-NEXT: %[[V:.*]] = memref.subview %[[A]]
// CHECK: %[[B:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[B]]
// CHECK-NEXT: scf.if
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[B]]
// CHECK-NEXT: }
// CHECK-NEXT: memref.dealloc %[[B]] :
// CHECK-NEXT: scf.for
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[V]]
// CHECK-NEXT: }
// CHECK-NEXT: memref.dealloc %[[A]] :
// CHECK-NEXT: return
func.func @outside(%n: index, %ok: i1, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = memref.alloc(%n) : memref<?xf32>
  %a = memref.alloc(%n) : memref<?xf32>
  %v = memref.subview %a[1] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: 1>>
  linalg.fill ins(%x : f32) outs(%b : memref<?xf32>)
  scf.if %ok {
    linalg.fill ins(%x : f32) outs(%b : memref<?xf32>)
  }
  scf.for %i = %c0 to %n step %c1 {
    linalg.fill ins(%x : f32) outs(%v : memref<?xf32, strided<[1], offset: 1>>)
  }
  memref.dealloc %b : memref<?xf32>
  memref.dealloc %a : memref<?xf32>
  return
}

// What a branch, a loop or a function gives away stays in its block, and so does what is freed in another one.
// CHECK-LABEL: func.func @escapes
// CHECK: %[[A:.*]] = memref.alloc
// CHECK-NEXT: %[[B:.*]] = memref.alloc
// CHECK-NEXT: scf.if
// CHECK: memref.dealloc %[[A]] :
// CHECK-NEXT: memref.alloc
// CHECK-NEXT: return
func.func @escapes(%n: index, %ok: i1, %x: f32) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc(%n) : memref<?xf32>
  %b = memref.alloc(%n) : memref<?xf32>
  %c = memref.alloc(%n) : memref<?xf32>
  %r = scf.if %ok -> (memref<?xf32>) {
    memref.dealloc %b : memref<?xf32>
    scf.yield %a : memref<?xf32>
  } else {
    linalg.fill ins(%x : f32) outs(%b : memref<?xf32>)
    memref.dealloc %b : memref<?xf32>
    scf.yield %a : memref<?xf32>
  }
  linalg.fill ins(%x : f32) outs(%r : memref<?xf32>)
  memref.dealloc %a : memref<?xf32>
  return %c : memref<?xf32>
}

// A result is allocated when what it is not computed of is freed.
// CHECK-LABEL: func.func @result
// CHECK-NEXT: %[[A:.*]] = memref.alloc
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[A]]
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK-NEXT: %[[R:.*]] = memref.alloc
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[R]]
// CHECK-NEXT: return
func.func @result(%n: index, %x: f32) -> memref<?xf32> {
  %r = memref.alloc(%n) : memref<?xf32>
  %a = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%x : f32) outs(%a : memref<?xf32>)
  linalg.fill ins(%x : f32) outs(%r : memref<?xf32>)
  memref.dealloc %a : memref<?xf32>
  return %r : memref<?xf32>
}

// Regions of several blocks are left alone: a use in another block has no place among the ops of the own one.
// CHECK-LABEL: func.func @blocks
// CHECK-NEXT: memref.alloc
// CHECK-NEXT: scf.execute_region
// CHECK-NEXT: memref.alloc
// CHECK: memref.dealloc
// CHECK: cf.cond_br
func.func @blocks(%n: index, %ok: i1, %x: f32) -> memref<?xf32> {
  %a = memref.alloc(%n) : memref<?xf32>
  scf.execute_region {
    %b = memref.alloc(%n) : memref<?xf32>
    cf.br ^after
  ^after:
    linalg.fill ins(%x : f32) outs(%b : memref<?xf32>)
    memref.dealloc %b : memref<?xf32>
    scf.yield
  }
  cf.cond_br %ok, ^fill, ^end
^fill:
  linalg.fill ins(%x : f32) outs(%a : memref<?xf32>)
  cf.br ^end
^end:
  return %a : memref<?xf32>
}
