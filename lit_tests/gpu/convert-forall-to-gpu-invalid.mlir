// RUN: ragged-opt %s --split-input-file --verify-diagnostics --convert-forall-to-gpu

func.func @schedule() {
  // expected-error@below {{expected schedule of ragged.mapping among general, balanced, segment, contract, got "fast"}}
  scf.forall (%b) in (1) {
  } {ragged.mapping = {schedule = "fast"}}
  return
}

// -----

func.func @threads() {
  // expected-error@below {{expected threads of ragged.mapping among 1, 32, 64, 128, 256, 512, 1024, got 48 : i64}}
  scf.forall (%b) in (1) {
  } {ragged.mapping = {threads = 48 : i64}}
  return
}

// -----

func.func @field() {
  // expected-error@below {{expected ragged.mapping with some of schedule, threads, unroll, tile, got {blocks = 8 : i64}}}
  scf.forall (%b) in (1) {
  } {ragged.mapping = {blocks = 8 : i64}}
  return
}

// -----

func.func @no_product(%n: index, %x: memref<?xf32>) {
  // expected-error@below {{expected a loop that multiplies matrices of f16, bf16 or f32, got one that does not}}
  scf.forall (%b) in (%n) {
    %v = memref.load %x[%b] : memref<?xf32>
    memref.store %v, %x[%b] : memref<?xf32>
  } {ragged.mapping = {schedule = "contract"}}
  return
}

// -----

func.func @another(%n: index, %x: memref<?xf32>) {
  // expected-error@below {{expected a loop that reduces or maps the rows of components, got one that does not}}
  scf.forall (%b) in (%n) {
    %v = memref.load %x[%b] : memref<?xf32>
    memref.store %v, %x[%b] : memref<?xf32>
  } {ragged.mapping = {schedule = "balanced"}}
  return
}

// -----

// Copies become linalg ops before.
func.func @op(%x: memref<4xf32>, %y: memref<4xf32>) {
  scf.forall (%b) in (4) {
    // expected-error@below {{expected an op that runs on a device, got 'memref.copy'}}
    memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  }
  return
}

// -----

// Scratch of the host is made for it before.
func.func @temporary(%n: index) {
  scf.forall (%b) in (4) {
    // expected-error@below {{expected temporaries that shared memory has room for (run place-ragged-temporaries first), got others}}
    %t = memref.alloc(%n) : memref<?xindex>
    memref.store %n, %t[%b] : memref<?xindex>
  }
  return
}

// -----

// expected-error@unknown {{expected whole buffers on the host, got memref<4xf32, strided<[2]>>}}
func.func @strided(%x: memref<4xf32, strided<[2]>>, %v: f32) {
  scf.forall (%b) in (4) {
    memref.store %v, %x[%b] : memref<4xf32, strided<[2]>>
  }
  return
}

// -----

// Kernels write buffers.
func.func @tensors(%n: index, %x: tensor<?xf32>, %s: f32) -> tensor<?xf32> {
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

// A gate is a buffer that the same pass marked.
func.func @gate(%x: memref<8xf32>, %v: f32, %n: index) {
  // expected-error@below {{expected one buffer for ragged.gate = 3 : i64, got 0}}
  scf.forall (%i) in (%n) {
    memref.store %v, %x[%i] : memref<8xf32>
  } {ragged.gate = 3 : i64}
  return
}

// -----

// A loop folds what threads can combine.
func.func @fold(%x: memref<8xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) in (1) {
    // expected-error@below {{expected ragged.fold of a loop among search, addi, add_unsigned, maxsi, scan, got "muli"}}
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%a = %c0) -> (index) {
      %v = memref.load %x[%k] : memref<8xindex>
      %b = arith.muli %a, %v : index
      scf.yield %b : index
    } {ragged.fold = {kind = "muli"}}
    memref.store %s, %x[%i] : memref<8xindex>
  }
  return
}

// -----

// It carries the one integer that it folds.
func.func @folded(%x: memref<8xf32>, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) in (1) {
    // expected-error@below {{expected ragged.fold of a loop that carries one integer, got another}}
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%a = %v) -> (f32) {
      %b = memref.load %x[%k] : memref<8xf32>
      scf.yield %b : f32
    } {ragged.fold = {kind = "addi"}}
    memref.store %s, %x[%i] : memref<8xf32>
  }
  return
}

// -----

func.func @complex(%x: memref<8xcomplex<f32>>, %y: memref<8xcomplex<f32>>) {
  scf.forall (%i) in (8) {
    // expected-error@below {{expected numbers of at most 64 bits in kernels, got memref<8xcomplex<f32>>}}
    %a = memref.load %x[%i] : memref<8xcomplex<f32>>
    memref.store %a, %y[%i] : memref<8xcomplex<f32>>
  }
  return
}

// -----

// LLVM has no code of it for PTX.
func.func @wide(%x: memref<8xi128>) {
  scf.forall (%i) in (8) {
    // expected-error@below {{expected numbers of at most 64 bits in kernels, got memref<8xi128>}}
    %a = memref.load %x[%i] : memref<8xi128>
    %b = arith.divsi %a, %a : i128
    memref.store %b, %x[%i] : memref<8xi128>
  }
  return
}

// -----

func.func private @callee(f32) -> f32

func.func @calls(%x: memref<8xf32>) {
  scf.forall (%i) in (8) {
    %a = memref.load %x[%i] : memref<8xf32>
    // expected-error@below {{expected no calls in kernels, got one of @callee}}
    %b = func.call @callee(%a) : (f32) -> f32
    memref.store %b, %x[%i] : memref<8xf32>
  }
  return
}

// -----

func.func @space(%x: memref<8xf32, 3>, %y: memref<8xf32>) {
  scf.forall (%i) in (8) {
    // expected-error@below {{expected buffers without a memory space, got memref<8xf32, 3>}}
    %a = memref.load %x[%i] : memref<8xf32, 3>
    memref.store %a, %y[%i] : memref<8xf32>
  }
  return
}

// -----

func.func @chosen(%x: memref<8xf32>, %y: memref<8xf32>, %q: i1) {
  scf.forall (%i) in (8) {
    // expected-error@below {{expected buffers in kernels to be of one memory, got one of 'arith.select'}}
    %s = arith.select %q, %x, %y : memref<8xf32>
    %a = memref.load %s[%i] : memref<8xf32>
    memref.store %a, %y[%i] : memref<8xf32>
  }
  return
}

// -----

func.func @swapped(%x: memref<8xf32>, %y: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) in (8) {
    // expected-error@below {{expected buffers in kernels to be of one memory, got one of 'scf.for'}}
    %p:2 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (memref<8xf32>, memref<8xf32>) {
      scf.yield %b, %a : memref<8xf32>, memref<8xf32>
    }
    %v = memref.load %p#0[%i] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
  }
  return
}

// -----

func.func @bytes(%x: memref<32xi8>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (8) {
    // expected-error@below {{expected buffers in kernels to be of one memory, got one of 'memref.view'}}
    %s = memref.view %x[%c0][] : memref<32xi8> to memref<8xf32>
    %a = memref.load %s[%i] : memref<8xf32>
    memref.store %a, %y[%i] : memref<8xf32>
  }
  return
}

// -----

// Checks write to a record that the last argument is.
module attributes {ragged.checks} {
  // expected-error@below {{expected memref<5xi64> as last argument (run wrap-ragged-device-code), got index}}
  func.func @record(%x: memref<8xf32>, %n: index) {
    scf.forall (%i) in (8) {
      %a = memref.load %x[%i] : memref<8xf32>
      memref.store %a, %x[%i] : memref<8xf32>
    }
    return
  }
}

// -----

// Iterations are counted from 0 on.
func.func @shifted(%x: memref<?xf32>) {
  // expected-error@+1 {{expected an scf.forall over indices from 0 by 1, got another}}
  scf.forall (%i) = (2) to (8) step (2) {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%i] : memref<?xf32>
  }
  return
}
