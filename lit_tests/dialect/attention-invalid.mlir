// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Queries are contiguous.
func.func @attention_0(%q: tensor<3x?x2x4xf32, #ragged.layout<"dw|d|d">>, %k: tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>) {
  // expected-error@+1 {{'ragged.attention' op expected q of layout "dr|d|d", got "dw|d|d"}}
  %0:2 = ragged.attention %q, %k, %k {scale = 1.0} : (tensor<3x?x2x4xf32, #ragged.layout<"dw|d|d">>, tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>) -> (tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x2xf32, #ragged.layout<"dr|d">>)
  return
}

// -----

// Keys have heads.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @attention_1(%q: !q, %k: tensor<3x?x4xf32, #ragged.layout<"dr|d">>) {
  // expected-error@+1 {{'ragged.attention' op expected k of layout "dr|d|d" or "dw|d|d", got "dr|d"}}
  %0:2 = ragged.attention %q, %k, %q {scale = 1.0} : (!q, tensor<3x?x4xf32, #ragged.layout<"dr|d">>, !q) -> (!q, !l)
  return
}

// -----

// Every component of queries has one of keys.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!k = tensor<2x?x2x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @attention_2(%q: !q, %k: !k) {
  // expected-error@+1 {{'ragged.attention' op expected equal batch extents, got 3 and 2}}
  %0:2 = ragged.attention %q, %k, %k {scale = 1.0} : (!q, !k, !k) -> (!q, !l)
  return
}

// -----

// Queries and keys are multiplied.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!k = tensor<3x?x2x5xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @attention_3(%q: !q, %k: !k) {
  // expected-error@+1 {{'ragged.attention' op expected equal head dims of q and k, got 4 and 5}}
  %0:2 = ragged.attention %q, %k, %k {scale = 1.0} : (!q, !k, !k) -> (!q, !l)
  return
}

// -----

// Keys have values.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!v = tensor<3x?x1x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @attention_4(%q: !q, %v: !v) {
  // expected-error@+1 {{'ragged.attention' op expected equal heads of k and v, got 2 and 1}}
  %0:2 = ragged.attention %q, %q, %v {scale = 1.0} : (!q, !q, !v) -> (!q, !l)
  return
}

// -----

// Groups of heads are equal.
!q = tensor<3x?x3x4xf32, #ragged.layout<"dr|d|d">>
!k = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x3xf32, #ragged.layout<"dr|d">>
func.func @attention_5(%q: !q, %k: !k) {
  // expected-error@+1 {{'ragged.attention' op expected heads of q that are a positive multiple of 2, got 3}}
  %0:2 = ragged.attention %q, %k, %k {scale = 1.0} : (!q, !k, !k) -> (!q, !l)
  return
}

// -----

// A softmax is of floats.
!q = tensor<3x?x2x4xi32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xi32, #ragged.layout<"dr|d">>
func.func @attention_6(%q: !q) {
  // expected-error@+1 {{'ragged.attention' op expected operands of floats of 16 to 64 bits, got i32}}
  %0:2 = ragged.attention %q, %q, %q {scale = 1.0} : (!q, !q, !q) -> (!q, !l)
  return
}

// -----

// Nothing is converted.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!k = tensor<3x?x2x4xf16, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @attention_7(%q: !q, %k: !k) {
  // expected-error@+1 {{'ragged.attention' op expected k of f32, got f16}}
  %0:2 = ragged.attention %q, %k, %q {scale = 1.0} : (!q, !k, !q) -> (!q, !l)
  return
}

// -----

// Bounds have names.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @attention_8(%q: !q) {
  // expected-error@+1 {{'ragged.attention' op expected keys among all, causal, causal_end, window<l, r>, window_end<l, r>, got 'window<-2, 3>'}}
  %0:2 = ragged.attention %q, %q, %q {scale = 1.0, keys = "window<-2, 3>"} : (!q, !q, !q) -> (!q, !l)
  return
}

// -----

// A cap divides.
!q = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xf32, #ragged.layout<"dr|d">>
func.func @attention_9(%q: !q) {
  // expected-error@+1 {{'ragged.attention' op expected a float in [1e-20, 1e+20] for 'softcap', got 0.000000e+00 : f64}}
  %0:2 = ragged.attention %q, %q, %q {scale = 1.0, softcap = 0.0} : (!q, !q, !q) -> (!q, !l)
  return
}

// -----

// Sums of short floats are long.
!q = tensor<3x?x2x4xbf16, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x2xbf16, #ragged.layout<"dr|d">>
func.func @attention_10(%q: !q) {
  // expected-error@+1 {{'ragged.attention' op expected result type tensor<3x?x2xf32, #ragged.layout<"dr|d">>, got tensor<3x?x2xbf16, #ragged.layout<"dr|d">>}}
  %0:2 = ragged.attention %q, %q, %q {scale = 1.0} : (!q, !q, !q) -> (!q, !l)
  return
}

// -----

// Groups have a head.
!q = tensor<3x?x0x4xf32, #ragged.layout<"dr|d|d">>
!k = tensor<3x?x2x4xf32, #ragged.layout<"dr|d|d">>
!l = tensor<3x?x0xf32, #ragged.layout<"dr|d">>
func.func @no_heads(%q: !q, %k: !k) {
  // expected-error@+1 {{'ragged.attention' op expected heads of q that are a positive multiple of 2, got 0}}
  %0:2 = ragged.attention %q, %k, %k {scale = 1.0} : (!q, !k, !k) -> (!q, !l)
  return
}
