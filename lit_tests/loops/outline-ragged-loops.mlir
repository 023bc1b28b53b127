// RUN: ragged-opt %s --outline-ragged-loops | FileCheck %s

#id = affine_map<(i) -> (i)>

// CHECK: func.func private @f_kernel0(%[[LO:.*]]: index, %[[HI:.*]]: index, %{{.*}}: index, %[[S:.*]]: f32, %[[X:.*]]: memref<?xf32> {llvm.noalias})
// CHECK-SAME: attributes {ragged.kernel}
// CHECK: scf.for %[[I:.*]] = %[[LO]] to %[[HI]]
// CHECK:   memref.store %[[S]], %[[X]][%[[I]]]

// CHECK-LABEL: func.func @f
// CHECK-SAME: (%[[N:.*]]: index, %[[S:.*]]: f32)
// CHECK: %[[A:.*]] = memref.alloc(%[[N]])
// CHECK: call @f_kernel0(%{{.*}}, %[[N]], %{{.*}}, %[[S]], %[[A]])
func.func @f(%n: index, %s: f32) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.alloc(%n) : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %s, %x[%i] : memref<?xf32>
  } {ragged.parallel}
  return %x : memref<?xf32>
}

// A loop without the mark stays.
// CHECK-LABEL: func.func @serial
// CHECK: scf.for
// CHECK-NOT: call
func.func @serial(%n: index, %x: memref<?xf32>, %s: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    memref.store %s, %x[%i] : memref<?xf32>
  }
  return
}

// Settings of a loop are those of its kernel.
// CHECK: func.func private @tiles_kernel0(
// CHECK-SAME: attributes {ragged.kernel, ragged.mapping = {tile = 512 : i64}}
func.func @tiles(%n: index, %x: memref<?xf32>, %s: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    memref.store %s, %x[%i] : memref<?xf32>
  } {ragged.parallel, ragged.mapping = {tile = 512}}
  return
}

// Loops that do the same are calls of one kernel; one of another type has its own.
// CHECK: func.func private @layers_kernel0(
// CHECK-NOT: func.func private @layers_kernel1
// CHECK: func.func private @layers_kernel2(
// CHECK-LABEL: func.func @layers
// CHECK-SAME: (%{{.*}}: index, %[[X:.*]]: memref<?xf32>, %[[Y:.*]]: memref<?xf32>, %[[Z:.*]]: memref<?xf64>)
// CHECK: call @layers_kernel0({{.*}}, %[[X]])
// CHECK: call @layers_kernel0({{.*}}, %[[Y]])
// CHECK: call @layers_kernel2({{.*}}, %[[Z]])
func.func @layers(%n: index, %x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %wide = arith.constant 1.0 : f64
  scf.for %i = %c0 to %n step %c1 {
    memref.store %one, %x[%i] : memref<?xf32>
  } {ragged.parallel}
  scf.for %i = %c0 to %n step %c1 {
    memref.store %one, %y[%i] : memref<?xf32>
  } {ragged.parallel}
  scf.for %i = %c0 to %n step %c1 {
    memref.store %wide, %z[%i] : memref<?xf64>
  } {ragged.parallel}
  return
}

// As much work as can be said, of buffers that are larger than any memory.
// CHECK-LABEL: func.func @large
// CHECK: memref.dim
// CHECK: %[[MOST:.*]] = arith.constant 9223372036854775807 : index
// CHECK: %[[WORK:.*]] = arith.muli {{.*}}%[[MOST]]
func.func @large(%n: index, %x: memref<?x4611686018427387904x4xf32>, %s: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    memref.store %s, %x[%i, %c0, %c0] : memref<?x4611686018427387904x4xf32>
  } {ragged.parallel}
  return
}

// Two views of one buffer that are only read share no memory with what is written. Where one is written they may.
// CHECK-LABEL: func.func private @views_kernel0(
// CHECK-SAME: memref<?xf32, strided<[1], offset: 1>> {llvm.noalias}, %{{.*}}: memref<?xf32> {llvm.noalias}, %{{.*}}: memref<?xf32> {llvm.noalias})
// CHECK-LABEL: func.func private @views_kernel1(
// CHECK-SAME: memref<?xf32, strided<[1], offset: 1>>, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32> {llvm.noalias})
// CHECK-LABEL: func.func private @views_kernel2(
// CHECK-SAME: memref<?xf32, strided<[1], offset: 1>>, %{{.*}}: memref<?xf32>)
// CHECK-LABEL: func.func private @views_kernel3(
// CHECK-SAME: memref<?xf32> {llvm.noalias}, %{{.*}}: memref<?xf32, strided<[1], offset: 1>> {llvm.noalias}, %{{.*}}: memref<?xf32> {llvm.noalias})
// CHECK-LABEL: func.func @views
func.func @views(%n: index, %x: memref<?xf32>, %size: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %made = memref.alloc(%size) : memref<?xf32>
  %rest = memref.subview %x[1][%n][1] : memref<?xf32> to memref<?xf32, strided<[1], offset: 1>>
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %rest[%i] : memref<?xf32, strided<[1], offset: 1>>
    %b = memref.load %x[%i] : memref<?xf32>
    %d = arith.subf %a, %b : f32
    memref.store %d, %made[%i] : memref<?xf32>
  } {ragged.parallel}
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %rest[%i] : memref<?xf32, strided<[1], offset: 1>>
    memref.store %a, %x[%i] : memref<?xf32>
    memref.store %a, %made[%i] : memref<?xf32>
  } {ragged.parallel}
  scf.for %i = %c0 to %n step %c1 {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%rest : memref<?xf32, strided<[1], offset: 1>>) outs(%x : memref<?xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
  } {ragged.parallel}
  scf.for %i = %c0 to %n step %c1 {
    linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%x, %rest : memref<?xf32>, memref<?xf32, strided<[1], offset: 1>>) outs(%made : memref<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %d = arith.subf %a, %b : f32
      linalg.yield %d : f32
    }
  } {ragged.parallel}
  memref.dealloc %made : memref<?xf32>
  return
}
