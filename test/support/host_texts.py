"""Host programs as MLIR text."""

from __future__ import annotations

KERNELS = """
  gpu.module @kernels {
    gpu.func @twice(%x: memref<f32>, %y: memref<f32>, %n: index, %s: f32, %b: i1) kernel { gpu.return }
    gpu.func @one(%n: index) kernel { gpu.return }
  }
}"""
LAUNCH = (
    """
module attributes {gpu.container_module} {
  func.func @f(%x: memref<?x2xf32>, %s: f32, %b: i1) -> memref<?x2xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c255 = arith.constant 255 : index
    %c256 = arith.constant 256 : index
    %n = memref.dim %x, %c0 : memref<?x2xf32>
    %t = memref.alloc(%n) : memref<?x2xf32>
    %y = memref.alloc(%n) : memref<?x2xf32>
    %xp = memref.reinterpret_cast %x to offset: [0], sizes: [], strides: [] : memref<?x2xf32> to memref<f32>
    %tp = memref.reinterpret_cast %t to offset: [0], sizes: [], strides: [] : memref<?x2xf32> to memref<f32>
    %yp = memref.reinterpret_cast %y to offset: [0], sizes: [], strides: [] : memref<?x2xf32> to memref<f32>
    %g = arith.ceildivui %n, %c256 : index
    gpu.launch_func @kernels::@twice blocks in (%g, %c1, %c1) threads in (%c256, %c1, %c1)
      args(%xp : memref<f32>, %tp : memref<f32>, %n : index, %s : f32, %b : i1)
    gpu.launch_func @kernels::@twice blocks in (%g, %c1, %c1) threads in (%c256, %c1, %c1)
      args(%tp : memref<f32>, %yp : memref<f32>, %n : index, %s : f32, %b : i1)
    memref.dealloc %t : memref<?x2xf32>
    return %y : memref<?x2xf32>
  }"""
    + KERNELS
)
MEMORY = """
module {
  memref.global "private" constant @c : memref<2xbf16> = dense<[1.5, -2.0]>
  memref.global "private" constant @d : memref<3xi64> = dense<7>
  func.func @f(%x: memref<?xi64>, %i: index) -> (i64, memref<?xi64>, memref<2xbf16>, i1, f32, memref<3xi64>) {
    %b = memref.get_global @c : memref<2xbf16>
    %d = memref.get_global @d : memref<3xi64>
    %c0 = arith.constant 0 : index
    %0 = memref.load %x[%i] : memref<?xi64>
    %n = memref.dim %x, %c0 : memref<?xi64>
    %y = memref.alloc(%n) : memref<?xi64>
    memref.copy %x, %y : memref<?xi64> to memref<?xi64>
    %s = arith.constant 9 : i64
    memref.store %s, %y[%i] : memref<?xi64>
    %m = memref.alloc() : memref<i1>
    %f = arith.constant true
    memref.store %f, %m[] : memref<i1>
    %1 = memref.load %m[] : memref<i1>
    %t = memref.alloc() : memref<1xf32>
    %h = arith.constant 0.1 : f32
    memref.store %h, %t[%c0] : memref<1xf32>
    %2 = memref.load %t[%c0] : memref<1xf32>
    %z = bufferization.clone %y : memref<?xi64> to memref<?xi64>
    %k = memref.cast %z : memref<?xi64> to memref<?xi64>
    return %0, %k, %b, %1, %2, %d : i64, memref<?xi64>, memref<2xbf16>, i1, f32, memref<3xi64>
  }
}"""
VIEWS = """
func.func @f(%x: memref<?x2xf32>, %i: index, %n: index) -> (memref<?x2xf32>, memref<?xf32>, memref<?x1x2xf32>) {
  %0 = memref.collapse_shape %x [[0, 1]] : memref<?x2xf32> into memref<?xf32>
  %1 = memref.expand_shape %x [[0, 1], [2]] output_shape [%n, 1, 2] : memref<?x2xf32> into memref<?x1x2xf32>
  %c0 = arith.constant 0 : index
  %all = memref.dim %x, %c0 : memref<?x2xf32>
  %y = memref.alloc(%all) : memref<?x2xf32>
  memref.copy %x, %y : memref<?x2xf32> to memref<?x2xf32>
  %from = memref.subview %x[%i, 1] [%n, 1] [1, 1] : memref<?x2xf32> to memref<?x1xf32, strided<[2, 1], offset: ?>>
  %to = memref.subview %y[0, 0] [%n, 1] [1, 1] : memref<?x2xf32> to memref<?x1xf32, strided<[2, 1]>>
  memref.copy %from, %to : memref<?x1xf32, strided<[2, 1], offset: ?>> to memref<?x1xf32, strided<[2, 1]>>
  return %y, %0, %1 : memref<?x2xf32>, memref<?xf32>, memref<?x1x2xf32>
}"""
CHECKED = """
module attributes {gpu.container_module, ragged.checks = [["index", "ragged.select", 0], ["fits", "x", 1]]} {
  func.func @f(%i: index, %status: memref<5xi64>) -> index {
    %c1 = arith.constant 1 : index
    %p = memref.reinterpret_cast %status to offset: [0], sizes: [], strides: [] : memref<5xi64> to memref<i64>
    gpu.launch_func @kernels::@check blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%i : index, %p : memref<i64>)
    return %i : index
  }
  gpu.module @kernels { gpu.func @check(%i: index, %s: memref<i64>) kernel { gpu.return } }
}"""
