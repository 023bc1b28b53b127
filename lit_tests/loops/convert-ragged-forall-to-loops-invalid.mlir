// RUN: ragged-opt %s --split-input-file --verify-diagnostics --convert-ragged-forall-to-loops

// The loops write buffers: a shared out has no place in them.
func.func @forall(%n: index, %x: tensor<?xf32>, %s: f32) -> tensor<?xf32> {
  // expected-error@below {{'scf.forall' op expected buffers, got tensors (run one-shot-bufferize first)}}
  %0 = scf.forall (%i) in (%n) shared_outs(%o = %x) -> tensor<?xf32> {
    %1 = tensor.from_elements %s : tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %1 into %o[%i] [1] [1] : tensor<1xf32> into tensor<?xf32>
    }
  }
  return %0 : tensor<?xf32>
}

// -----

// Flat ops are cut into ranges of buffers.
func.func @flat(%x: tensor<?xf32>, %s: f32) -> tensor<?xf32> {
  // expected-error@below {{'linalg.fill' op expected buffers, got tensors (run one-shot-bufferize first)}}
  %0 = linalg.fill ins(%s : f32) outs(%x : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// Other foralls than those of this package: how often they run is not their upper bound.
func.func @steps(%x: memref<?xf32>, %low: index, %n: index) {
  // expected-error@+1 {{expected an scf.forall over indices from 0 by 1, got another}}
  scf.forall (%i) = (%low) to (%n) step (2) {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%i] : memref<?xf32>
  }
  return
}

// -----

// One without an index has no bound.
func.func @once(%x: memref<f32>, %v: f32) {
  // expected-error@+1 {{expected an scf.forall over indices from 0 by 1, got another}}
  scf.forall () in () {
    memref.store %v, %x[] : memref<f32>
  }
  return
}
