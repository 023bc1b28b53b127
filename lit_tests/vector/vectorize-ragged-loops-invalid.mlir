// RUN: ragged-opt %s --verify-diagnostics --vectorize-ragged-loops="isa=mmx"

// An instruction set that is none.
// expected-error @+1 {{expected isa to be auto or one of none, sse, avx2, avx512, avx512bf16, amxbf16, got mmx}}
module {}
