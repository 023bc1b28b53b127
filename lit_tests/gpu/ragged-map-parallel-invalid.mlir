// RUN: ragged-opt %s --split-input-file --verify-diagnostics --ragged-map-parallel
// RUN: not ragged-opt %s --split-input-file --ragged-map-parallel=schedule=fast 2>&1 | FileCheck %s

// CHECK: error: expected a schedule among auto, general, balanced, segment, contract, got 'fast'

func.func @fits(%n: index, %x: memref<?xf32>, %s: f32) {
  // expected-error@below {{expected a schedule that fits the loop nest, got 'contract'}}
  scf.forall (%i) in (%n) {
    memref.store %s, %x[%i] : memref<?xf32>
  } {ragged.mapping = {schedule = "contract"}}
  return
}

// -----

func.func @tiles(%n: index, %x: memref<?xf32>, %s: f32) {
  // expected-error@below {{expected no tile where a block has an iteration of the loop nest, got 64}}
  scf.forall (%i) in (%n) {
    memref.store %s, %x[%i] : memref<?xf32>
  } {ragged.mapping = {tile = 64}}
  return
}

// -----

func.func @elements(%x: memref<8xf80>) {
  scf.forall (%i) in (8) {
    // expected-error@below {{expected numbers of at most 64 bits in kernels, got memref<8xf80>}}
    %a = memref.load %x[%i] : memref<8xf80>
    memref.store %a, %x[%i] : memref<8xf80>
  }
  return
}
