// RUN: ragged-opt %s --ragged-insert-checks=names=true | FileCheck %s

// A check has the name of the location, where there is one.
// CHECK-LABEL: func.func @named
// CHECK: ragged.assert_valid {{.*}} op = "grouped"
// CHECK: ragged.assert_valid {{.*}} op = "ragged.partition"
// CHECK: return
func.func @named(%v: tensor<?xf32>, %o: tensor<?xi64>, %p: tensor<?xi64>) {
  %x = "ragged.partition"(%v, %o) {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">> loc("grouped")
  %y = ragged.partition %v, %p {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return
}

// An op whose operands are known to be right has no checks.
// CHECK-LABEL: func.func @known
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @known(%v: tensor<?xf32>, %o: tensor<?xi64>) {
  %x = ragged.assemble %v, %o {ragged.checked} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return
}
