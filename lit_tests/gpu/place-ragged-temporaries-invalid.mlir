// RUN: ragged-opt %s --verify-diagnostics --place-ragged-temporaries

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
