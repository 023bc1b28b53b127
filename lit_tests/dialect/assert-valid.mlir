// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// Kinds with operands of different forms.

// CHECK-LABEL: func.func @offsets
// CHECK-SAME: (%[[O:.*]]: tensor<?xi64>, %[[N:.*]]: index)
// CHECK: ragged.assert_valid %[[O]], %[[N]] {kind = "offsets", level = 1, op = "ragged.partition"} : (tensor<?xi64>, index) -> ()
func.func @offsets(%o: tensor<?xi64>, %n: index) {
  ragged.assert_valid %o, %n {kind = "offsets", level = 1, op = "ragged.partition"} : (tensor<?xi64>, index) -> ()
  return
}

// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[O:.*]]: tensor<?x?xi64>, %[[L:.*]]: tensor<?xi64>)
// CHECK: ragged.assert_valid %[[O]], %[[L]] {kind = "rows", level = 1, op = "ragged.partition"} : (tensor<?x?xi64>, tensor<?xi64>) -> ()
func.func @rows(%o: tensor<?x?xi64>, %l: tensor<?xi64>) {
  ragged.assert_valid %o, %l {kind = "rows", level = 1, op = "ragged.partition"}
      : (tensor<?x?xi64>, tensor<?xi64>) -> ()
  return
}

// CHECK-LABEL: func.func @windows
// CHECK-SAME: (%[[S:.*]]: tensor<?xi64>, %[[L:.*]]: tensor<?xi64>, %[[N:.*]]: index, %[[C:.*]]: index)
// CHECK: ragged.assert_valid %[[S]], %[[L]], %[[N]], %[[C]] {kind = "windows", level = 1, op = "ragged.assemble"} : (tensor<?xi64>, tensor<?xi64>, index, index) -> ()
func.func @windows(%s: tensor<?xi64>, %l: tensor<?xi64>, %n: index, %c: index) {
  ragged.assert_valid %s, %l, %n, %c {kind = "windows", level = 1, op = "ragged.assemble"}
      : (tensor<?xi64>, tensor<?xi64>, index, index) -> ()
  return
}

// CHECK-LABEL: func.func @divides
// CHECK-SAME: (%[[N:.*]]: index)
// CHECK: ragged.assert_valid %[[N]] {factor = 4, kind = "divides", level = 0, op = "ragged.split"} : (index) -> ()
func.func @divides(%n: index) {
  ragged.assert_valid %n {factor = 4, kind = "divides", level = 0, op = "ragged.split"} : (index) -> ()
  return
}

// CHECK-LABEL: func.func @index_per_component
// CHECK-SAME: (%[[I:.*]]: tensor<?xi64>, %[[N:.*]]: tensor<?xi64>)
// CHECK: ragged.assert_valid %[[I]], %[[N]] {kind = "index", level = 1, op = "ragged.select"} : (tensor<?xi64>, tensor<?xi64>) -> ()
func.func @index_per_component(%i: tensor<?xi64>, %n: tensor<?xi64>) {
  ragged.assert_valid %i, %n {kind = "index", level = 1, op = "ragged.select"} : (tensor<?xi64>, tensor<?xi64>) -> ()
  return
}
