// RUN: ragged-translate --to=ptx --arch=sm_90 %s | FileCheck %s --check-prefix=PTX
// RUN: ragged-translate --to=llvmir %s | FileCheck %s --check-prefix=LLVM
// RUN: ragged-translate --to=llvmir --index-bits=32 %s | FileCheck %s --check-prefix=NARROW
// RUN: ragged-translate --to=nvvm %s | FileCheck %s --check-prefix=NVVM

// PTX: .version 7.8
// PTX: .target sm_90
// PTX: .visible .entry scale(
// PTX: .maxntid 128
// PTX: ld.global.nc.v4.b32
// PTX: fma.rn.f32
// PTX: st.global.v4.b32

// LLVM: define ptx_kernel void @scale(ptr noalias align 16 %0, ptr noalias align 16 %1, i64 %2)
// LLVM: fmul contract <4 x float> %{{.*}}, splat (float 0x3FB99999A0000000)
// NARROW: define ptx_kernel void @scale(ptr noalias align 16 %0, ptr noalias align 16 %1, i32 %2)
// NVVM: llvm.func @scale(%{{.*}}: !llvm.ptr
// NVVM: nvvm.read.ptx.sreg.tid.x
gpu.module @kernels {
  gpu.func @scale(%x: memref<f32> {llvm.noalias, llvm.align = 16 : i64}, %y: memref<f32> {llvm.noalias, llvm.align = 16 : i64},
                  %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = gpu.thread_id x
    %c4 = arith.constant 4 : index
    %i = arith.muli %t, %c4 overflow<nsw, nuw> : index
    %xs = memref.reinterpret_cast %x to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32>
    %ys = memref.reinterpret_cast %y to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32>
    %v = vector.load %xs[%i] {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
    %k = arith.constant dense<0.1> : vector<4xf32>
    %m = arith.mulf %v, %k : vector<4xf32>
    %a = arith.addf %m, %v : vector<4xf32>
    vector.store %a, %ys[%i] {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
    gpu.return
  }
}
