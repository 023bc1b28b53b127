// RUN: ragged-opt %s --split-input-file --verify-diagnostics --wrap-ragged-device-code

// Host programs are straight lines with structured control flow.
// expected-error@below {{expected a function of one block, got several}}
func.func @f(%c: i1) {
  cf.cond_br %c, ^a, ^b
^a:
  return
^b:
  return
}

// -----

// What is left on tensors has no place in memory.
func.func @tensors(%n: index, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error@below {{'scf.for' op expected buffers, got tensors (run one-shot-bufferize first)}}
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> (tensor<4xf32>) {
    %t = arith.addf %s, %s : tensor<4xf32>
    scf.yield %t : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// A tensor that depends on what is read from memory cannot be kept for later.
func.func @read(%x: memref<4xi1>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<4xi1>
  // expected-error@below {{expected buffers and numbers, got tensor<4xf32>}}
  %t = arith.select %v, %a, %b : tensor<4xf32>
  return %t : tensor<4xf32>
}

// -----

// How much there is in a buffer is not known without its rank.
// expected-error@below {{expected buffers of a rank, got memref<*xf32>}}
func.func @unranked(%x: memref<*xf32>, %y: memref<?xf32>) {
  %m = memref.cast %x : memref<*xf32> to memref<?xf32>
  linalg.copy ins(%m : memref<?xf32>) outs(%y : memref<?xf32>)
  return
}

// -----

// Nothing else is left of a function that calls itself.
func.func @recursive(%c: i1, %n: index) {
  scf.if %c {
    %f = arith.constant false
    // expected-error@+1 {{expected functions with a body to be inlined, which those that call themselves are not, got a call of 'recursive'}}
    func.call @recursive(%f, %n) : (i1, index) -> ()
  }
  return
}

// -----

// Nor is it where something lies that a map places.
// expected-error@below {{expected buffers with strides, got memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>}}
func.func @mapped(%x: memref<4x4xf32, affine_map<(i, j) -> (j, i)>>, %y: memref<4x4xf32>) {
  linalg.copy ins(%x : memref<4x4xf32, affine_map<(i, j) -> (j, i)>>) outs(%y : memref<4x4xf32>)
  return
}
