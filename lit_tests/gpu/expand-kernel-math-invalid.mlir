// RUN: ragged-opt %s --expand-kernel-math --verify-diagnostics

gpu.module @kernels {
  gpu.func @vector(%x: vector<4xf32>) kernel {
    // Vectors are loaded and stored; their elements are computed one by one.
    // expected-error@+1 {{expected a scalar operand for 'math.trunc' in a kernel, got vector<4xf32>}}
    %t = math.trunc %x : vector<4xf32>
    gpu.return
  }
}
