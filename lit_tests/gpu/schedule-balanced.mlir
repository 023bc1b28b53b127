// RUN: ragged-opt %s --ragged-map-parallel --convert-forall-to-gpu --canonicalize --cse | FileCheck %s

// Rows of components are summed: a kernel over equal tiles of rows and component ends, then one that adds
// what several tiles have of a component. The host knows their number from the extents.
// CHECK-LABEL: func.func @sums
// CHECK:         %[[OPEN:.*]] = memref.alloc(%[[TILES:.*]]) : memref<?x64xf32>
// CHECK:         %[[STARTS:.*]] = memref.alloc(%[[TILES]]) : memref<?xi64>
// CHECK:         gpu.launch_func @kernels::@sums_0 blocks in (%[[TILES]],
// CHECK:         gpu.launch_func @kernels::@sums_0_carries blocks in (%[[TILES]],
// CHECK-NOT:     scf.forall
func.func @sums(%x: memref<?x64xf32>, %offsets: memref<?xi64>, %y: memref<?x64xf32>, %n: index, %zero: f32) {
  %c1 = arith.constant 1 : index
  scf.forall (%b) in (%n) {
    %lo = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %lo : i64 to index
    %next = arith.addi %b, %c1 : index
    %hi = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %hi : i64 to index
    %length = arith.subi %high, %low : index
    %rows = memref.subview %x[%low, 0] [%length, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
    %row = memref.subview %y[%b, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(d) -> ()>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
        ins(%zero : f32) outs(%row : memref<64xf32, strided<[1], offset: ?>>) {
    ^bb0(%s: f32, %out: f32):
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (d)>],
        iterator_types = ["reduction", "parallel"]}
        ins(%rows : memref<?x64xf32, strided<[64, 1], offset: ?>>) outs(%row : memref<64xf32, strided<[1], offset: ?>>) {
    ^bb0(%e: f32, %sum: f32):
      %t = arith.addf %sum, %e : f32
      linalg.yield %t : f32
    }
  }
  return
}

// The warp finds the tile's components together, each group of 16 threads those of its piece. Long
// stretches are loaded 8 rows at a time, before they are added.
// CHECK-LABEL: gpu.func @sums_0(
// CHECK:         nvvm.vote.sync ballot
// CHECK:         scf.while
// CHECK:         scf.for
// CHECK-COUNT-8:   vector.load %{{.*}} {alignment = 16 : i64} : memref<?x64xf32{{.*}}>, vector<4xf32>
// CHECK-NOT:       vector.load
// CHECK:           arith.addf
// CHECK:         gpu.barrier
// CHECK:         gpu.return
// CHECK-LABEL: gpu.func @sums_0_carries(
// CHECK-NOT:     linalg.generic
// CHECK:         gpu.return
