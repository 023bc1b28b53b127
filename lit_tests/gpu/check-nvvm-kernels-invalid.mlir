// RUN: ragged-opt %s --check-nvvm-kernels --verify-diagnostics

gpu.module @kernels {
  llvm.func @kernel(%x: i64, %p: !llvm.ptr) attributes {nvvm.kernel} {
    // The cast is only there because the op below it was not converted.
    %i = builtin.unrealized_conversion_cast %x : i64 to index
    // expected-error @+1 {{expected ops that lower to the llvm and nvvm dialects, got 'math.ctpop'}}
    %r = math.ctpop %i : index
    llvm.return
  }
}
