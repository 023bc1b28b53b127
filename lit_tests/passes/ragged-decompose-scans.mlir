// RUN: ragged-opt %s --ragged-decompose-scans | FileCheck %s

#L = #ragged.layout<"dr|d">

// As many passes as the logarithm of the longest component; each combines what is twice as far apart.

// CHECK-LABEL: func.func @forward
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x8xf32, #{{.*}}>)
// CHECK: %[[LONGEST:.*]] = ragged.max_length %[[X]] {level = 1}
// CHECK: math.ctlz
// CHECK: %[[Y:.*]] = scf.for %[[K:[a-z0-9]+]] = %{{.*}} iter_args(%[[Z:.*]] = %[[X]])
// CHECK: %[[FAR:.*]] = arith.shli %{{.*}}, %[[K]] : index
// CHECK: linalg.generic {{.*}} ins(%[[Z]] : {{.*}} attrs = {{ *[{]}}ragged.checked}
// CHECK: ^bb0(%[[A:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[I:.*]] = linalg.index 1
// CHECK: %[[THERE:.*]] = arith.cmpi sge, %[[I]], %[[FAR]]
// CHECK: %[[BEFORE:.*]] = arith.subi %[[I]], %[[FAR]]
// CHECK: %[[P:.*]] = tensor.extract %[[Z]]
// CHECK: %[[S:.*]] = arith.addf %[[P]], %[[A]] : f32
// CHECK: arith.select %[[THERE]], %[[S]], %[[A]]
// CHECK-NOT: ragged.scan
// CHECK: return %[[Y]]
func.func @forward(%x: tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L> {
  %y = ragged.scan %x {dim = 1, kind = "sum"} : (tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L>
  return %y : tensor<?x?x8xf32, #L>
}

// From the other end every component has its own.

// CHECK-LABEL: func.func @backwards
// CHECK: %[[COUNTS:.*]] = linalg.generic {{.*}}"reduction"
// CHECK: scf.for %[[K:[a-z0-9]+]] =
// CHECK: %[[FAR:.*]] = arith.shli %{{.*}}, %[[K]] : index
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[COUNTS]] :
// CHECK: arith.addi %{{.*}}, %[[FAR]]
// CHECK: arith.cmpi slt
// CHECK: arith.maximumf
func.func @backwards(%x: tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L> {
  %y = ragged.scan %x {dim = 1, kind = "max", reverse} : (tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L>
  return %y : tensor<?x?x8xf32, #L>
}

// What leaves each element out is moved by one in the end.

// CHECK-LABEL: func.func @without_itself
// CHECK: %[[Y:.*]] = scf.for
// CHECK: %[[NOTHING:.*]] = arith.constant 1.000000e+00 : f32
// CHECK: %[[MOVED:.*]] = linalg.generic {{.*}} ins(%[[Y]] : {{.*}} attrs = {{ *[{]}}ragged.checked}
// CHECK: %[[P:.*]] = tensor.extract %[[Y]]
// CHECK: %[[ALL:.*]] = arith.mulf %[[P]], %[[NOTHING]]
// CHECK: arith.select %{{.*}}, %[[ALL]], %[[NOTHING]]
// CHECK: return %[[MOVED]]
func.func @without_itself(%x: tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L> {
  %y = ragged.scan %x {dim = 1, kind = "prod", exclusive} : (tensor<?x?x8xf32, #L>) -> tensor<?x?x8xf32, #L>
  return %y : tensor<?x?x8xf32, #L>
}

// A dense dim has an extent; windows become a tensor of their own.

// CHECK-LABEL: func.func @dense
// CHECK: tensor.dim
// CHECK: scf.for
// CHECK: arith.ori
func.func @dense(%x: tensor<?x4xi1>) -> tensor<?x4xi1> {
  %0 = ragged.scan %x {dim = 0, kind = "max"} : (tensor<?x4xi1>) -> tensor<?x4xi1>
  return %0 : tensor<?x4xi1>
}

// CHECK-LABEL: func.func @windows
// CHECK: ragged.compact
func.func @windows(%x: tensor<?x?xi32, #ragged.layout<"dw">>) -> tensor<?x?xi32, #ragged.layout<"dr">> {
  %0 = ragged.scan %x {dim = 1, kind = "prod"} : (tensor<?x?xi32, #ragged.layout<"dw">>) -> tensor<?x?xi32, #ragged.layout<"dr">>
  return %0 : tensor<?x?xi32, #ragged.layout<"dr">>
}
