// RUN: ragged-opt %s --ragged-insert-checks=arguments=false | FileCheck %s

#r = #ragged.layout<"dr">

// Every index against the extent, or the length of the component the indices before it name.
// CHECK-LABEL: func.func @element
// CHECK-SAME: (%[[X:.*]]: tensor<?x?xf32, #{{.*}}>, %[[I:.*]]: index, %[[J:.*]]: index)
// CHECK: %[[N:.*]] = tensor.dim %[[X]]
// CHECK: ragged.assert_valid %[[I]], %[[N]] {kind = "index", {{.*}}level = 0{{.*}}op = "tensor.extract"
// CHECK: %[[O:.*]] = ragged.offsets %[[X]] {level = 1
// CHECK: ragged.assert_valid %[[J]], %{{.*}} {kind = "index", {{.*}}level = 1{{.*}}op = "tensor.extract"
// CHECK: tensor.extract %[[X]][%[[I]], %[[J]]]
func.func @element(%x: tensor<?x?xf32, #r>, %i: index, %j: index) -> f32 {
  %0 = tensor.extract %x[%i, %j] : tensor<?x?xf32, #r>
  return %0 : f32
}

// Dense tensors are asked for their extents.
// CHECK-LABEL: func.func @dense
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %[[I:.*]]: index)
// CHECK: %[[N:.*]] = tensor.dim %[[X]], %{{.*}} : tensor<?xf32>
// CHECK: ragged.assert_valid %[[I]], %[[N]] {kind = "index", level = 0, op = "tensor.extract"}
func.func @dense(%x: tensor<?xf32>, %i: index) -> f32 {
  %0 = tensor.extract %x[%i] : tensor<?xf32>
  return %0 : f32
}
