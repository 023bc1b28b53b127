// RUN: ragged-opt %s --convert-inner-linalg-to-loops | FileCheck %s

#id = affine_map<(i) -> (i)>
#turned = affine_map<(i, j) -> (j, i)>
#two = affine_map<(i, j) -> (i, j)>

// What fills the table of an element is a loop, that over the elements is not.
// CHECK-LABEL: func.func @filled
// CHECK: linalg.generic
// CHECK: ^bb0(%[[A:.*]]: index):
// CHECK: %[[TABLE:.*]] = memref.alloc() : memref<4xindex>
// CHECK: scf.for %[[K:.*]] = %c0{{.*}} to %c4{{.*}} step %c1
// CHECK: memref.store %[[A]], %[[TABLE]][%[[K]]] : memref<4xindex>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @filled(%x: memref<?xindex>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<?xindex>) {
  ^bb0(%a: index):
    %t = memref.alloc() : memref<4xindex>
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%t : memref<4xindex>) {
    ^bb0(%o: index):
      linalg.yield %a : index
    }
    %r = memref.load %t[%a] : memref<4xindex>
    linalg.yield %r : index
  }
  return
}

// Maps and indices are those of the loops.
// CHECK-LABEL: func.func @turned
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c3{{.*}} step
// CHECK: scf.for %[[J:.*]] = %c0{{.*}} to %c2{{.*}} step
// CHECK: %[[X:.*]] = memref.load %{{.*}}[%[[J]], %[[I]]] : memref<2x3xindex>
// CHECK: %[[SUM:.*]] = arith.addi %[[X]], %[[J]]
// CHECK: memref.store %[[SUM]], %{{.*}}[%[[I]], %[[J]]] : memref<3x2xindex>
func.func @turned(%x: memref<?xindex>, %c: memref<2x3xindex>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<?xindex>) {
  ^bb0(%a: index):
    %t = memref.alloc() : memref<3x2xindex>
    linalg.generic {indexing_maps = [#turned, #two], iterator_types = ["parallel", "parallel"]}
        ins(%c : memref<2x3xindex>) outs(%t : memref<3x2xindex>) {
    ^bb0(%e: index, %o: index):
      %j = linalg.index 1 : index
      %s = arith.addi %e, %j : index
      linalg.yield %s : index
    }
    %r = memref.load %t[%a, %a] : memref<3x2xindex>
    linalg.yield %r : index
  }
  return
}
