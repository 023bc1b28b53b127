// RUN: ragged-opt %s --convert-forall-to-gpu=threads=32 --canonicalize --cse | FileCheck %s

#id = affine_map<(d0) -> (d0)>
!part = memref<?xf32, strided<[1], offset: ?>>

// Threads take turns with the iterations of a loop that folds, and combine what they have found: the
// smallest unsigned index, which -1 is the largest of.
// CHECK: gpu.func @search_0
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: scf.for %{{.*}} = %[[THREAD]] to
// CHECK-COUNT-5: arith.minui
func.func @search(%n: index, %o: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant -1 : index
  scf.forall (%b) in (1) {
    %found = scf.for %i = %c0 to %n step %c1 iter_args(%at = %none) -> (index) {
      %v = memref.load %o[%i] : memref<?xindex>
      %bad = arith.cmpi slt, %v, %c0 : index
      %open = arith.cmpi slt, %at, %c0 : index
      %both = arith.andi %bad, %open : i1
      %r = arith.select %both, %i, %at : index
      scf.yield %r : index
    } {ragged.fold = {kind = "search"}}
    memref.store %found, %o[%c0] : memref<?xindex>
  }
  return
}

// Every thread goes through a loop of several steps; a step waits for what the one before it wrote.
// CHECK: gpu.func @steps_0
// CHECK: scf.for
// CHECK:   memref.store
// CHECK:   gpu.barrier
// CHECK:   memref.load
// CHECK:   memref.store
// CHECK:   gpu.barrier
// CHECK: gpu.return
func.func @steps(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%b) in (1) {
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.subview %x[%c1] [%i] [1] : memref<?xf32> to !part
      %w = memref.subview %x[%c0] [%i] [1] : memref<?xf32> to !part
      linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%v : !part) {
      ^bb0(%out: f32):
        %0 = arith.constant 1.0 : f32
        linalg.yield %0 : f32
      }
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%v : !part) outs(%w : !part) {
      ^bb0(%u: f32, %out: f32):
        linalg.yield %u : f32
      }
    }
  }
  return
}

// Ops whose elements stay with their threads need no barrier between them.
// CHECK: gpu.func @chain_0
// CHECK: memref.store
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
func.func @chain(%x: memref<?xf32>, %y: memref<?xf32>) {
  scf.forall (%b) in (1) {
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<?xf32>) {
    ^bb0(%out: f32):
      %0 = arith.addf %out, %out : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
    ^bb0(%u: f32, %out: f32):
      linalg.yield %u : f32
    }
  }
  return
}

// Threads that have four elements at a time wait where those after them have eight.
// CHECK: gpu.func @widths_0
// CHECK: vector.store {{.*}} vector<4xf32>
// CHECK: gpu.barrier
// CHECK: vector.load {{.*}} vector<8xf32>
// CHECK: gpu.return
func.func @widths(%x: memref<1024xf32>, %y: memref<1024xf16>) {
  scf.forall (%b) in (1) {
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<1024xf32>) {
    ^bb0(%out: f32):
      %0 = arith.addf %out, %out : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<1024xf32>) outs(%y : memref<1024xf16>) {
    ^bb0(%u: f32, %out: f16):
      %0 = arith.truncf %u : f32 to f16
      linalg.yield %0 : f16
    }
  }
  return
}

// A fill stays where the reduction behind it writes a part of what it fills, or the payload reads it.
// CHECK: gpu.func @diagonal_0
// CHECK: vector.store %cst
// CHECK: gpu.barrier
// CHECK: arith.addf
// CHECK: gpu.return
func.func @diagonal(%x: memref<4x64xf32>, %y: memref<4x4xf32>) {
  %z = arith.constant 0.0 : f32
  scf.forall (%b) in (1) {
    linalg.generic {indexing_maps = [affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>],
                    iterator_types = ["parallel", "parallel"]} ins(%z : f32) outs(%y : memref<4x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, i)>],
                    iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x64xf32>) outs(%y : memref<4x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o : f32
      linalg.yield %s : f32
    }
  }
  return
}

// CHECK: gpu.func @read_0
// CHECK: vector.store %cst
// CHECK: gpu.barrier
// CHECK: memref.load
// CHECK: gpu.return
func.func @read(%x: memref<64xf32>, %y: memref<64xf32>) {
  %z = arith.constant 1.0 : f32
  %c3 = arith.constant 3 : index
  scf.forall (%b) in (1) {
    linalg.generic {indexing_maps = [affine_map<(i) -> ()>, #id], iterator_types = ["parallel"]} ins(%z : f32) outs(%x : memref<64xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%y : memref<64xf32>) {
    ^bb0(%o: f32):
      %s = memref.load %x[%c3] : memref<64xf32>
      linalg.yield %s : f32
    }
  }
  return
}

// What the host chose may be either of two buffers: threads wait.
// CHECK: gpu.func @either_0
// CHECK: store
// CHECK: gpu.barrier
// CHECK: load
// CHECK: gpu.return
func.func @either(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<64xf32>, %q: i1) {
  %s = arith.select %q, %x, %y : memref<64xf32>
  scf.forall (%b) in (1) {
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<64xf32>) {
    ^bb0(%o: f32):
      %0 = arith.addf %o, %o : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [affine_map<(i) -> (63 - i)>, #id], iterator_types = ["parallel"]} ins(%s : memref<64xf32>) outs(%z : memref<64xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
  }
  return
}
