; f32 math of kernels, under the names of libdevice, which they stand in for.
; Literals are the shortest decimals of the value (ragged_dialect.ptx.llvm22 makes bit patterns of them).
; docs/ptx.md has the measured errors; test/test_ptx_prelude.py measures them again.

declare float @llvm.fma.f32(float, float, float)
declare float @llvm.fabs.f32(float)
declare float @llvm.copysign.f32(float, float)
declare float @llvm.minimum.f32(float, float)
declare float @llvm.maximum.f32(float, float)
declare float @llvm.tanh.f32(float)
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare float @llvm.nvvm.saturate.f(float)
declare float @llvm.nvvm.ex2.approx.f32(float)
declare float @llvm.nvvm.ex2.approx.ftz.f32(float)
declare float @llvm.nvvm.lg2.approx.f(float)
declare float @llvm.nvvm.rcp.approx.ftz.f(float)
declare float @llvm.nvvm.rsqrt.approx.f(float)
declare float @llvm.nvvm.sin.approx.f(float)
declare float @llvm.nvvm.cos.approx.f(float)

; e**x = 2**n * 2**f with n + f = x * log2(e) and n an integer in [-126, 126]. n + 127 is left in the low bits of %t by
; adding 1.5 * 2**23, which makes the factor 2**n a shift. f is whatever is left, also where n was limited: the product
; of the two factors overflows, becomes subnormal (rounded once) or zero, as e**x does.
define linkonce_odr float @__nv_expf(float %x) alwaysinline {
  %part = call float @llvm.fma.f32(float %x, float 0.0057249805, float 0.5)
  %limited = call float @llvm.nvvm.saturate.f(float %part)
  %t = call float @llvm.fma.f32(float %limited, float 252.0, float 12582913.0)
  %n = fsub float %t, 12583039.0
  %minus.n = fneg float %n
  %f.high = call float @llvm.fma.f32(float %x, float 1.442695, float %minus.n)
  %f = call float @llvm.fma.f32(float %x, float 1.925963e-08, float %f.high)
  %power = call float @llvm.nvvm.ex2.approx.ftz.f32(float %f)
  %bits = bitcast float %t to i32
  %scale.bits = shl i32 %bits, 23
  %scale = bitcast i32 %scale.bits to float
  %result = fmul float %power, %scale
  ret float %result
}

define linkonce_odr float @__nv_exp2f(float %x) alwaysinline {
  %result = call float @llvm.nvvm.ex2.approx.f32(float %x)
  ret float %result
}

; e**x - 1 = 2**n * p + (2**n - 1) with p = e**r - 1 a polynomial in r = x - n ln 2. Half of 2**n is used: 2**128 is infinite.
define linkonce_odr float @__nv_expm1f(float %x) alwaysinline {
  %below = call float @llvm.minimum.f32(float %x, float 89.0)
  %y = call float @llvm.maximum.f32(float %below, float -18.0)
  %t = call float @llvm.fma.f32(float %y, float 1.442695, float 12583038.0)
  %n = fsub float %t, 12583038.0
  %minus.n = fneg float %n
  %r.high = call float @llvm.fma.f32(float %minus.n, float 0.6931472, float %y)
  %r = call float @llvm.fma.f32(float %minus.n, float -1.9046542e-09, float %r.high)
  %p0 = call float @llvm.fma.f32(float %r, float 0.0013870716, float 0.008366273)
  %p1 = call float @llvm.fma.f32(float %r, float %p0, float 0.041667435)
  %p2 = call float @llvm.fma.f32(float %r, float %p1, float 0.16666546)
  %p3 = call float @llvm.fma.f32(float %r, float %p2, float 0.49999997)
  %square = fmul float %r, %r
  %p = call float @llvm.fma.f32(float %square, float %p3, float %r)
  %bits = bitcast float %t to i32
  %half.bits = shl i32 %bits, 23
  %half = bitcast i32 %half.bits to float
  %rest = fsub float %half, 0.5
  %halved = call float @llvm.fma.f32(float %half, float %p, float %rest)
  %result = fmul float %halved, 2.0
  %magnitude = call float @llvm.fabs.f32(float %x)
  %tiny = fcmp olt float %magnitude, 2.9802322e-08
  %exact = select i1 %tiny, float %x, float %result
  ret float %exact
}

; (k, f, rest) of positive finite x: x = 2**k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), log(1 + f) = f + rest.
define linkonce_odr { float, float, float } @__ragged_log_parts(float %x, float %late) alwaysinline {
  %tiny = fcmp olt float %x, 1.1754944e-38
  %scaled = fmul float %x, 8388608.0
  %y = select i1 %tiny, float %scaled, float %x
  %offset = select i1 %tiny, float -23.0, float 0.0
  %bits = bitcast float %y to i32
  %above = sub i32 %bits, 1060439283
  %exponent = ashr i32 %above, 23
  %exponent.bits = shl i32 %exponent, 23
  %m.bits = sub i32 %bits, %exponent.bits
  %m = bitcast i32 %m.bits to float
  %f0 = fsub float %m, 1.0
  %small = icmp slt i32 %exponent, 100
  %limited = select i1 %small, i32 %exponent, i32 100
  %reverse = sub i32 127, %limited
  %reverse.bits = shl i32 %reverse, 23
  %reverse.scale = bitcast i32 %reverse.bits to float
  %f = call float @llvm.fma.f32(float %late, float %reverse.scale, float %f0)
  %k0 = sitofp i32 %exponent to float
  %k = fadd float %k0, %offset
  %p0 = call float @llvm.fma.f32(float %f, float -0.07636439, float 0.12762217)
  %p1 = call float @llvm.fma.f32(float %f, float %p0, float -0.1315961)
  %p2 = call float @llvm.fma.f32(float %f, float %p1, float 0.1420158)
  %p3 = call float @llvm.fma.f32(float %f, float %p2, float -0.16623409)
  %p4 = call float @llvm.fma.f32(float %f, float %p3, float 0.20001242)
  %p5 = call float @llvm.fma.f32(float %f, float %p4, float -0.2500082)
  %p6 = call float @llvm.fma.f32(float %f, float %p5, float 0.3333333)
  %square = fmul float %f, %f
  %minus.half = call float @llvm.fma.f32(float %f, float %p6, float -0.5)
  %rest = fmul float %square, %minus.half
  %s0 = insertvalue { float, float, float } poison, float %k, 0
  %s1 = insertvalue { float, float, float } %s0, float %f, 1
  %s2 = insertvalue { float, float, float } %s1, float %rest, 2
  ret { float, float, float } %s2
}

; The result for positive finite x. The instruction has the right value for all others: -inf at zero, inf, NaN.
define linkonce_odr float @__ragged_log_select(float %x, float %result) alwaysinline {
  %bits = bitcast float %x to i32
  %below = sub i32 %bits, 1
  %plain = icmp ult i32 %below, 2139095039
  %special = call float @llvm.nvvm.lg2.approx.f(float %x)
  %value = select i1 %plain, float %result, float %special
  ret float %value
}

define linkonce_odr float @__nv_logf(float %x) alwaysinline {
  %parts = call { float, float, float } @__ragged_log_parts(float %x, float 0.0)
  %k = extractvalue { float, float, float } %parts, 0
  %f = extractvalue { float, float, float } %parts, 1
  %rest = extractvalue { float, float, float } %parts, 2
  %low = call float @llvm.fma.f32(float %k, float -1.9046542e-09, float %rest)
  %mantissa = fadd float %f, %low
  %sum = call float @llvm.fma.f32(float %k, float 0.6931472, float %mantissa)
  %result = call float @__ragged_log_select(float %x, float %sum)
  ret float %result
}

define linkonce_odr float @__nv_log1pf(float %x) alwaysinline {
  %u = fadd float %x, 1.0
  %u.x = fsub float %u, 1.0
  %u.one = fsub float %u, %u.x
  %lost.one = fsub float 1.0, %u.one
  %lost.x = fsub float %x, %u.x
  %lost = fadd float %lost.one, %lost.x
  %parts = call { float, float, float } @__ragged_log_parts(float %u, float %lost)
  %k = extractvalue { float, float, float } %parts, 0
  %f = extractvalue { float, float, float } %parts, 1
  %rest = extractvalue { float, float, float } %parts, 2
  %low = call float @llvm.fma.f32(float %k, float -1.9046542e-09, float %rest)
  %mantissa = fadd float %f, %low
  %sum = call float @llvm.fma.f32(float %k, float 0.6931472, float %mantissa)
  %result = call float @__ragged_log_select(float %u, float %sum)
  %zero = fcmp oeq float %x, 0.0
  %signed = select i1 %zero, float %x, float %result
  ret float %signed
}

define linkonce_odr float @__nv_log2f(float %x) alwaysinline {
  %parts = call { float, float, float } @__ragged_log_parts(float %x, float 0.0)
  %k = extractvalue { float, float, float } %parts, 0
  %f = extractvalue { float, float, float } %parts, 1
  %rest = extractvalue { float, float, float } %parts, 2
  %high = fmul float %f, 1.442695
  %minus.high = fneg float %high
  %error = call float @llvm.fma.f32(float %f, float 1.442695, float %minus.high)
  %low = call float @llvm.fma.f32(float %f, float 1.925963e-08, float %error)
  %tail = call float @llvm.fma.f32(float %rest, float 1.442695, float %low)
  %mantissa = fadd float %high, %tail
  %sum = fadd float %k, %mantissa
  %result = call float @__ragged_log_select(float %x, float %sum)
  ret float %result
}

define linkonce_odr float @__nv_log10f(float %x) alwaysinline {
  %parts = call { float, float, float } @__ragged_log_parts(float %x, float 0.0)
  %k = extractvalue { float, float, float } %parts, 0
  %f = extractvalue { float, float, float } %parts, 1
  %rest = extractvalue { float, float, float } %parts, 2
  %high = fmul float %f, 0.4342945
  %minus.high = fneg float %high
  %error = call float @llvm.fma.f32(float %f, float 0.4342945, float %minus.high)
  %low = call float @llvm.fma.f32(float %f, float -1.010305e-08, float %error)
  %tail = call float @llvm.fma.f32(float %rest, float 0.4342945, float %low)
  %tail.k = call float @llvm.fma.f32(float %k, float -1.4320989e-08, float %tail)
  %mantissa = fadd float %high, %tail.k
  %sum = call float @llvm.fma.f32(float %k, float 0.30103, float %mantissa)
  %result = call float @__ragged_log_select(float %x, float %sum)
  ret float %result
}

; An odd polynomial below 0.625, else 1 - 2 / (e**(2|x|) + 1).
define linkonce_odr float @__nv_tanhf(float %x) alwaysinline {
  %a = call float @llvm.fabs.f32(float %x)
  %exponent = fmul float %a, 2.88539
  %power = call float @llvm.nvvm.ex2.approx.ftz.f32(float %exponent)
  %below = fadd float %power, 1.0
  %inverse = call float @llvm.nvvm.rcp.approx.ftz.f(float %below)
  %large = call float @llvm.fma.f32(float %inverse, float -2.0, float 1.0)
  %square = fmul float %x, %x
  %p0 = call float @llvm.fma.f32(float %square, float -0.005692296, float 0.020628167)
  %p1 = call float @llvm.fma.f32(float %square, float %p0, float -0.053736515)
  %p2 = call float @llvm.fma.f32(float %square, float %p1, float 0.13331406)
  %p3 = call float @llvm.fma.f32(float %square, float %p2, float -0.3333328)
  %cube = fmul float %a, %square
  %small = call float @llvm.fma.f32(float %cube, float %p3, float %a)
  %is.small = fcmp olt float %a, 0.625
  %magnitude = select i1 %is.small, float %small, float %large
  %result = call float @llvm.copysign.f32(float %magnitude, float %x)
  ret float %result
}

; An odd polynomial below 0.9, else 1 - e**-q(|x|); from 3.95 on the result is 1.
define linkonce_odr float @__nv_erff(float %x) alwaysinline {
  %a = call float @llvm.fabs.f32(float %x)
  %square = fmul float %x, %x
  %s0 = call float @llvm.fma.f32(float %square, float 8.3922605e-05, float -0.00081441575)
  %s1 = call float @llvm.fma.f32(float %square, float %s0, float 0.005200722)
  %s2 = call float @llvm.fma.f32(float %square, float %s1, float -0.026859023)
  %s3 = call float @llvm.fma.f32(float %square, float %s2, float 0.112836815)
  %s4 = call float @llvm.fma.f32(float %square, float %s3, float -0.37612632)
  %s5 = call float @llvm.fma.f32(float %square, float %s4, float 0.12837917)
  %small = call float @llvm.fma.f32(float %a, float %s5, float %a)
  %b = call float @llvm.minimum.f32(float %a, float 3.95)
  %q0 = call float @llvm.fma.f32(float %b, float 2.0822401e-05, float -0.00043133466)
  %q1 = call float @llvm.fma.f32(float %b, float %q0, float 0.004156033)
  %q2 = call float @llvm.fma.f32(float %b, float %q1, float -0.02508019)
  %q3 = call float @llvm.fma.f32(float %b, float %q2, float 0.10821994)
  %q4 = call float @llvm.fma.f32(float %b, float %q3, float 0.6334011)
  %q5 = call float @llvm.fma.f32(float %b, float %q4, float 1.1294883)
  %q = call float @llvm.fma.f32(float %b, float %q5, float -0.00016920331)
  %exponent = fmul float %q, -1.442695
  %power = call float @llvm.nvvm.ex2.approx.ftz.f32(float %exponent)
  %large = fsub float 1.0, %power
  %is.small = fcmp olt float %a, 0.9
  %magnitude = select i1 %is.small, float %small, float %large
  %result = call float @llvm.copysign.f32(float %magnitude, float %x)
  ret float %result
}

@__ragged_two_over_pi = internal constant [8 x i32] [i32 0, i32 u0xA2F9836E, i32 u0x4E441529, i32 u0xFC2757D1, i32 u0xF534DDC0, i32 u0xDB629599, i32 u0x3C439041, i32 u0xFE5163AB]

; (r, q) with x = (q + 4 n) pi / 2 + r and |r| <= pi / 4 for |x| >= 2**16, in 96 bits of 2 / pi: those before have a weight
; of 4 or more in the product with the 24-bit integer x is a multiple of, those after do not count.
define linkonce_odr { float, i32 } @__ragged_reduce_far(float %x) alwaysinline {
  %bits = bitcast float %x to i32
  %field = lshr i32 %bits, 23
  %biased = and i32 %field, 255
  %low.bits = and i32 %bits, 8388607
  %m = or i32 %low.bits, 8388608
  %m.wide = zext i32 %m to i64
  %first = sub i32 %biased, 120
  %word = lshr i32 %first, 5
  %shift = and i32 %first, 31
  %at = zext i32 %word to i64
  %p0 = getelementptr i32, ptr @__ragged_two_over_pi, i64 %at
  %p1 = getelementptr i32, ptr %p0, i64 1
  %p2 = getelementptr i32, ptr %p0, i64 2
  %p3 = getelementptr i32, ptr %p0, i64 3
  %w0 = load i32, ptr %p0
  %w1 = load i32, ptr %p1
  %w2 = load i32, ptr %p2
  %w3 = load i32, ptr %p3
  %high = call i32 @llvm.fshl.i32(i32 %w0, i32 %w1, i32 %shift)
  %middle = call i32 @llvm.fshl.i32(i32 %w1, i32 %w2, i32 %shift)
  %low = call i32 @llvm.fshl.i32(i32 %w2, i32 %w3, i32 %shift)
  %low.wide = zext i32 %low to i64
  %middle.wide = zext i32 %middle to i64
  %high.wide = zext i32 %high to i64
  %low.product = mul i64 %low.wide, %m.wide
  %carry = lshr i64 %low.product, 32
  %middle.product = mul i64 %middle.wide, %m.wide
  %sum = add i64 %middle.product, %carry
  %high.product = mul i64 %high.wide, %m.wide
  %high.shifted = shl i64 %high.product, 32
  %turns = add i64 %high.shifted, %sum
  %fraction = shl i64 %turns, 2
  %quadrant.wide = lshr i64 %turns, 62
  %quadrant.low = trunc i64 %quadrant.wide to i32
  %negative = icmp slt i64 %fraction, 0
  %up = zext i1 %negative to i32
  %quadrant = add i32 %quadrant.low, %up
  %fraction.float = sitofp i64 %fraction to double
  %r.wide = fmul double %fraction.float, 8.515303950216386e-20
  %r.positive = fptrunc double %r.wide to float
  %below.zero = icmp slt i32 %bits, 0
  %r.negated = fneg float %r.positive
  %quadrant.negated = sub i32 0, %quadrant
  %r.finite = select i1 %below.zero, float %r.negated, float %r.positive
  %q = select i1 %below.zero, i32 %quadrant.negated, i32 %quadrant
  %no.number = icmp eq i32 %biased, 255
  %nan = fsub float %x, %x
  %r = select i1 %no.number, float %nan, float %r.finite
  %s0 = insertvalue { float, i32 } poison, float %r, 0
  %s1 = insertvalue { float, i32 } %s0, i32 %q, 1
  ret { float, i32 } %s1
}

; (r, q) as above for every x. Below 2**16 pi / 2 in three parts does: the first product and difference is exact.
define linkonce_odr { float, i32 } @__ragged_reduce(float %x) alwaysinline {
  %a = call float @llvm.fabs.f32(float %x)
  %is.near = fcmp olt float %a, 65536.0
  br i1 %is.near, label %near, label %far

near:
  %t = call float @llvm.fma.f32(float %x, float 0.63661975, float 12582912.0)
  %k = fsub float %t, 12582912.0
  %r0 = call float @llvm.fma.f32(float %k, float -1.5707964, float %x)
  %r1 = call float @llvm.fma.f32(float %k, float 4.371139e-08, float %r0)
  %r2 = call float @llvm.fma.f32(float %k, float 1.7151245e-15, float %r1)
  %q = bitcast float %t to i32
  %s0 = insertvalue { float, i32 } poison, float %r2, 0
  %s1 = insertvalue { float, i32 } %s0, i32 %q, 1
  br label %done

far:
  %s2 = call { float, i32 } @__ragged_reduce_far(float %x)
  br label %done

done:
  %result = phi { float, i32 } [ %s1, %near ], [ %s2, %far ]
  ret { float, i32 } %result
}

; sin(r + q pi / 2) for |r| <= pi / 4.
define linkonce_odr float @__ragged_sine(float %r, i32 %q) alwaysinline {
  %square = fmul float %r, %r
  %s0 = call float @llvm.fma.f32(float %square, float -0.00019518407, float 0.00833219)
  %s1 = call float @llvm.fma.f32(float %square, float %s0, float -0.16666655)
  %cube = fmul float %r, %square
  %sine = call float @llvm.fma.f32(float %cube, float %s1, float %r)
  %c0 = call float @llvm.fma.f32(float %square, float 2.4432327e-05, float -0.001388731)
  %c1 = call float @llvm.fma.f32(float %square, float %c0, float 0.041666646)
  %c2 = call float @llvm.fma.f32(float %square, float -0.5, float 1.0)
  %fourth = fmul float %square, %square
  %cosine = call float @llvm.fma.f32(float %fourth, float %c1, float %c2)
  %odd = trunc i32 %q to i1
  %value = select i1 %odd, float %cosine, float %sine
  %half = and i32 %q, 2
  %sign = shl i32 %half, 30
  %value.bits = bitcast float %value to i32
  %result.bits = xor i32 %value.bits, %sign
  %result = bitcast i32 %result.bits to float
  ret float %result
}

define linkonce_odr float @__nv_sinf(float %x) alwaysinline {
  %reduced = call { float, i32 } @__ragged_reduce(float %x)
  %r = extractvalue { float, i32 } %reduced, 0
  %q = extractvalue { float, i32 } %reduced, 1
  %sine = call float @__ragged_sine(float %r, i32 %q)
  %zero = fcmp oeq float %x, 0.0
  %result = select i1 %zero, float %x, float %sine
  ret float %result
}

define linkonce_odr float @__nv_cosf(float %x) alwaysinline {
  %reduced = call { float, i32 } @__ragged_reduce(float %x)
  %r = extractvalue { float, i32 } %reduced, 0
  %q = extractvalue { float, i32 } %reduced, 1
  %next = add i32 %q, 1
  %result = call float @__ragged_sine(float %r, i32 %next)
  ret float %result
}

define linkonce_odr float @__nv_rsqrtf(float %x) alwaysinline {
  %result = call float @llvm.nvvm.rsqrt.approx.f(float %x)
  ret float %result
}

; What math ops with the afn flag become: one special-function instruction each, and a factor.
define linkonce_odr float @__nv_fast_expf(float %x) alwaysinline {
  %exponent = fmul float %x, 1.442695
  %result = call float @llvm.nvvm.ex2.approx.f32(float %exponent)
  ret float %result
}

define linkonce_odr float @__nv_fast_log2f(float %x) alwaysinline {
  %result = call float @llvm.nvvm.lg2.approx.f(float %x)
  ret float %result
}

define linkonce_odr float @__nv_fast_logf(float %x) alwaysinline {
  %log2 = call float @llvm.nvvm.lg2.approx.f(float %x)
  %result = fmul float %log2, 0.6931472
  ret float %result
}

define linkonce_odr float @__nv_fast_log10f(float %x) alwaysinline {
  %log2 = call float @llvm.nvvm.lg2.approx.f(float %x)
  %result = fmul float %log2, 0.30103
  ret float %result
}

define linkonce_odr float @__nv_fast_sinf(float %x) alwaysinline {
  %result = call float @llvm.nvvm.sin.approx.f(float %x)
  ret float %result
}

define linkonce_odr float @__nv_fast_cosf(float %x) alwaysinline {
  %result = call float @llvm.nvvm.cos.approx.f(float %x)
  ret float %result
}

define linkonce_odr float @__nv_fast_tanf(float %x) alwaysinline {
  %sin = call float @llvm.nvvm.sin.approx.f(float %x)
  %cos = call float @llvm.nvvm.cos.approx.f(float %x)
  %result = fdiv afn float %sin, %cos
  ret float %result
}

define linkonce_odr float @__nv_fast_powf(float %x, float %y) alwaysinline {
  %log2 = call float @llvm.nvvm.lg2.approx.f(float %x)
  %exponent = fmul float %log2, %y
  %result = call float @llvm.nvvm.ex2.approx.f32(float %exponent)
  ret float %result
}

define linkonce_odr float @__nv_fast_tanhf(float %x) alwaysinline {
  %result = call afn float @llvm.tanh.f32(float %x)
  ret float %result
}
