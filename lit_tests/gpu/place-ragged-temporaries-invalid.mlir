// RUN: ragged-opt %s --split-input-file --verify-diagnostics --place-ragged-temporaries

// A length that no slice has, so that there is no place for it in a buffer that the host allocates.
func.func @temporary(%x: memref<4xindex>) {
  scf.forall (%b) in (4) {
    %n = memref.load %x[%b] : memref<4xindex>
    // expected-error@below {{expected a temporary of a size that is known at launch or that a slice of a result has, got neither}}
    %t = memref.alloc(%n) : memref<?xindex>
    memref.store %n, %t[%b] : memref<?xindex>
  }
  return
}

// -----

// A slice that has the length, but starts where it is not known yet when the temporary is allocated.
#id = affine_map<(d0) -> (d0)>
func.func @late(%offsets: memref<?xindex>, %out: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  scf.forall (%b) in (%n) {
    %length = memref.load %offsets[%b] : memref<?xindex>
    // expected-error@below {{expected a temporary of a size that is known at launch or that a slice of a result has, got neither}}
    %t = memref.alloc(%length) : memref<?xf32>
    %next = arith.addi %b, %c1 : index
    %start = memref.load %offsets[%next] : memref<?xindex>
    %slice = memref.subview %out[%start] [%length] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%t : memref<?xf32>) outs(%slice : memref<?xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %c: f32):
      linalg.yield %a : f32
    }
  }
  return
}
