// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// It is a part of attention.
func.func @alone(%x: f32) {
  // expected-error@+1 {{'ragged.yield' op expected to be in an op with a region, got 'func.func'}}
  ragged.yield %x : (f32) -> ()
}

// -----

// Scores have the type of sums.
!q = tensor<3x?x2x4xf16, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @type(%q: !q) {
  // expected-error@+1 {{'ragged.attention' op expected a score of one block of (f32, index, index, index, index), got (f16, index, index, index, index)}}
  %0:2 = ragged.attention %q, %q, %q ({
  ^bb0(%s: f16, %b: index, %h: index, %i: index, %j: index):
    ragged.yield %s : (f16) -> ()
  }) {scale = 1.0} : (!q, !q, !q) -> (!q, !l)
  return
}

// -----

// One number comes out.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @yields(%q: !q) {
  // expected-error@+1 {{'ragged.attention' op expected a score that yields (f32), got (f32, f32)}}
  %0:2 = ragged.attention %q, %q, %q ({
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    ragged.yield %s, %s : (f32, f32) -> ()
  }) {scale = 1.0} : (!q, !q, !q) -> (!q, !l)
  return
}

// -----

// Of derivatives two.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @slope(%q: !q, %l: !l) {
  // expected-error@+1 {{'ragged.attention_vjp_q' op expected a score that yields (f32, f32), got (f32)}}
  %0 = ragged.attention_vjp_q %q, %q, %q, %l, %q, %l ({
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    ragged.yield %s : (f32) -> ()
  }) {scale = 1.0} : (!q, !q, !q, !l, !q, !l) -> !q
  return
}

// -----

// A softcap is a part of the score then.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @both(%q: !q) {
  // expected-error@+1 {{'ragged.attention' op expected no 'softcap' beside a score of its own, got both}}
  %0:2 = ragged.attention %q, %q, %q ({
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    ragged.yield %s : (f32) -> ()
  }) {scale = 1.0, softcap = 2.0} : (!q, !q, !q) -> (!q, !l)
  return
}

// -----

// Kernels make vectors of scores: there is arithmetic, and elements of tensors.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @loops(%q: !q) {
  // expected-error@+1 {{'ragged.attention' op expected a score of numbers and of elements of tensors, got 'scf.for'}}
  %0:2 = ragged.attention %q, %q, %q ({
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %c1 = arith.constant 1 : index
    %sum = scf.for %k = %i to %j step %c1 iter_args(%x = %s) -> f32 {
      scf.yield %x : f32
    }
    ragged.yield %sum : (f32) -> ()
  }) {scale = 1.0} : (!q, !q, !q) -> (!q, !l)
  return
}

// -----

// One block.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @blocks(%q: !q) {
  // expected-error@+1 {{'ragged.attention' op expected a score of one block, got 2}}
  %0:2 = ragged.attention %q, %q, %q ({
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    cf.br ^bb1
  ^bb1:
    ragged.yield %s : (f32) -> ()
  }) {scale = 1.0} : (!q, !q, !q) -> (!q, !l)
  return
}

// -----

// It has an end, which is its own.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @nothing(%q: !q) {
  // expected-error@+1 {{'ragged.attention' op expected a score that ends in 'ragged.yield', got nothing}}
  %0:2 = ragged.attention %q, %q, %q ({
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
  }) {scale = 1.0} : (!q, !q, !q) -> (!q, !l)
  return
}

// -----

!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @other(%q: !q) -> f32 {
  // expected-error@+1 {{'ragged.attention' op expected a score that ends in 'ragged.yield', got 'func.return'}}
  %0:2 = ragged.attention %q, %q, %q ({
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    return %s : f32
  }) {scale = 1.0} : (!q, !q, !q) -> (!q, !l)
  %x = arith.constant 0.0 : f32
  return %x : f32
}

// -----

// A ragged table is read by its values.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @ragged(%q: !q, %x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{'ragged.attention' op expected a score of elements of dense tensors, got tensor<3x?xf32, #ragged.layout<"dr">>}}
  %0:2 = ragged.attention %q, %q, %q ({
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %m = tensor.extract %x[%b, %i] : tensor<3x?xf32, #ragged.layout<"dr">>
    %sum = arith.addf %s, %m : f32
    ragged.yield %sum : (f32) -> ()
  }) {scale = 1.0} : (!q, !q, !q) -> (!q, !l)
  return
}
