// RUN: ragged-opt %s --ragged-canonicalize | FileCheck %s

#dr = #ragged.layout<"dr">
#drd = #ragged.layout<"dr|d">

// CHECK-LABEL: func.func @merge_of_partition
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %{{.*}}: tensor<4xi64>)
// CHECK-NEXT: return %[[X]]
func.func @merge_of_partition(%x: tensor<?xf32>, %o: tensor<4xi64>) -> tensor<?xf32> {
  %0 = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #dr>
  %1 = ragged.merge %0 {dim = 0} : (tensor<3x?xf32, #dr>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// The offsets are those of the merged tensor; only a static extent differs.
// CHECK-LABEL: func.func @partition_of_merge
// CHECK-SAME: (%[[Y:.*]]: tensor<3x?xf32
// CHECK-NEXT: %[[C:.*]] = tensor.cast %[[Y]]
// CHECK-NEXT: return %[[C]]
func.func @partition_of_merge(%y: tensor<3x?xf32, #dr>) -> tensor<?x?xf32, #dr> {
  %o = ragged.offsets %y {level = 1} : (tensor<3x?xf32, #dr>) -> tensor<?xi64>
  %0 = ragged.merge %y {dim = 0} : (tensor<3x?xf32, #dr>) -> tensor<?xf32>
  %1 = ragged.partition %0, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #dr>
  return %1 : tensor<?x?xf32, #dr>
}

// Other offsets: nothing cancels.
// CHECK-LABEL: func.func @repartition
// CHECK: ragged.merge
// CHECK: ragged.partition
func.func @repartition(%y: tensor<3x?xf32, #dr>, %o: tensor<?xi64>) -> tensor<?x?xf32, #dr> {
  %0 = ragged.merge %y {dim = 0} : (tensor<3x?xf32, #dr>) -> tensor<?xf32>
  %1 = ragged.partition %0, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #dr>
  return %1 : tensor<?x?xf32, #dr>
}

// Of three dims in a row the first two merge first.
// CHECK-LABEL: func.func @merge_order
// CHECK: ragged.merge %{{.*}} {dim = 0} : (tensor<2x?x?xf32
// CHECK: ragged.merge %{{.*}} {dim = 0} : (tensor<?x?xf32
func.func @merge_order(%x: tensor<2x?x?xf32, #ragged.layout<"drr">>) -> tensor<?xf32> {
  %0 = ragged.merge %x {dim = 1} : (tensor<2x?x?xf32, #ragged.layout<"drr">>) -> tensor<2x?xf32, #dr>
  %1 = ragged.merge %0 {dim = 0} : (tensor<2x?xf32, #dr>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// CHECK-LABEL: func.func @assemble
// CHECK: %[[A:.*]] = ragged.partition %{{.*}}, %{{.*}} {dim = 0} : (tensor<?x8xf32>, tensor<?xi64>)
// CHECK: ragged.partition %[[A]], %{{.*}} {dim = 0}
func.func @assemble(%v: tensor<?x8xf32>, %o: tensor<3xi64>, %p: tensor<?xi64>) -> tensor<2x?x?x8xf32, #ragged.layout<"drr|d">> {
  %0 = ragged.assemble %v, %o, %p
       : (tensor<?x8xf32>, tensor<3xi64>, tensor<?xi64>) -> tensor<2x?x?x8xf32, #ragged.layout<"drr|d">>
  return %0 : tensor<2x?x?x8xf32, #ragged.layout<"drr|d">>
}

// CHECK-LABEL: func.func @parts
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32>, %[[O:.*]]: tensor<?xi64>)
// CHECK: %[[C:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[N:.*]] = tensor.dim %[[X]], %[[C]]
// CHECK-NEXT: return %[[X]], %[[O]], %[[N]]
func.func @parts(%x: tensor<?x8xf32>, %o: tensor<?xi64>) -> (tensor<?x8xf32>, tensor<?xi64>, index) {
  %0 = ragged.partition %x, %o {dim = 0} : (tensor<?x8xf32>, tensor<?xi64>) -> tensor<?x?x8xf32, #drd>
  %e = math.exp %0 : tensor<?x?x8xf32, #drd>
  %v = ragged.values %0 : (tensor<?x?x8xf32, #drd>) -> tensor<?x8xf32>
  %w = ragged.offsets %e {level = 1} : (tensor<?x?x8xf32, #drd>) -> tensor<?xi64>
  %n = ragged.total %e {level = 1} : (tensor<?x?x8xf32, #drd>) -> index
  return %v, %w, %n : tensor<?x8xf32>, tensor<?xi64>, index
}

// CHECK-LABEL: func.func @constant_facts
// CHECK-DAG: arith.constant 198 : index
// CHECK-DAG: arith.constant 325 : index
// CHECK-NEXT: return
func.func @constant_facts(%x: tensor<?xf32>) -> (index, index) {
  %o = arith.constant dense<[0, 127, 127, 325]> : tensor<4xi64>
  %0 = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #dr>
  %m = ragged.max_length %0 {level = 1} : (tensor<3x?xf32, #dr>) -> index
  %n = ragged.total %0 {level = 1} : (tensor<3x?xf32, #dr>) -> index
  return %m, %n : index, index
}

// CHECK-LABEL: func.func @empty_root
// CHECK-SAME: (%[[X:.*]]: tensor
// CHECK-NEXT: ragged.empty %[[X]] :
func.func @empty_root(%x: tensor<3x?xf32, #dr>) -> tensor<3x?xi1, #dr> {
  %0 = math.exp %x : tensor<3x?xf32, #dr>
  %1 = arith.cmpf ogt, %0, %x : tensor<3x?xf32, #dr>
  %2 = ragged.empty %1 : (tensor<3x?xi1, #dr>) -> tensor<3x?xi1, #dr>
  return %2 : tensor<3x?xi1, #dr>
}
