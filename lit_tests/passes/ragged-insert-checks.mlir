// RUN: ragged-opt %s --ragged-insert-checks | FileCheck %s

// Arguments only: at the entry, before ops that came first.
// CHECK-LABEL: func.func @partition
// CHECK-SAME: (%[[V:.*]]: tensor<?x8xf32>, %[[O:.*]]: tensor<?xi64>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">> attributes {ragged.checked}
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[N:.*]] = tensor.dim %[[V]], %[[ZERO]]
// CHECK: ragged.assert_valid %[[O]], %[[N]], %[[THREE]] {kind = "offsets", level = 1, op = "ragged.partition"}
// CHECK-NEXT: math.exp
// CHECK-NEXT: ragged.partition
func.func @partition(%v: tensor<?x8xf32>, %o: tensor<?xi64>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">> {
  %e = math.exp %v : tensor<?x8xf32>
  %x = ragged.partition %v, %o {dim = 0} : (tensor<?x8xf32>, tensor<?xi64>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
  return %x : tensor<3x?x8xf32, #ragged.layout<"dr|d">>
}

// Computed operands: right before the op. Equal checks once.
// CHECK-LABEL: func.func @computed
// CHECK: %[[P:.*]] = arith.addi
// CHECK: ragged.assert_valid %[[P]], %{{.*}} {kind = "lengths", level = 1, op = "ragged.partition"}
// CHECK-NEXT: ragged.partition
// CHECK-NEXT: ragged.partition
// CHECK-NOT: ragged.assert
func.func @computed(%v: tensor<?xf32>, %l: tensor<3xi64>) {
  %p = arith.addi %l, %l : tensor<3xi64>
  %x = ragged.partition %v, %p {dim = 0, lengths} : (tensor<?xf32>, tensor<3xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %y = ragged.partition %v, %p {dim = 0, lengths} : (tensor<?xf32>, tensor<3xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// Rows of offsets against the lengths they divide, or the extent all have.
// CHECK-LABEL: func.func private @rows
// CHECK-SAME: (%[[X:.*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[D:.*]]: tensor<2x6xf32>, %[[M:.*]]: tensor<?x4xi64>)
// CHECK: %[[L:.*]] = ragged.lengths %[[X]] {level = 1}
// CHECK: ragged.assert_valid %[[M]], %[[L]] {kind = "rows", level = 2, op = "ragged.partition"}
// CHECK-DAG: %[[SIX:.*]] = arith.constant 6 : index
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: ragged.assert_valid %[[M]], %[[SIX]], %[[TWO]] {kind = "rows", level = 2, op = "ragged.partition"}
func.func private @rows(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %d: tensor<2x6xf32>, %m: tensor<?x4xi64>) {
  %y = ragged.partition %x, %m {dim = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<?x4xi64>) -> tensor<3x3x?xf32, #ragged.layout<"ddr">>
  %z = ragged.partition %d, %m {dim = 1} : (tensor<2x6xf32>, tensor<?x4xi64>) -> tensor<2x3x?xf32, #ragged.layout<"ddr">>
  return
}

// Level 2 against the total of level 1; both ends against storage.
// CHECK-LABEL: func.func @assemble
// CHECK-SAME: (%[[V:.*]]: tensor<?xf32>, %[[A:.*]]: tensor<4xi64>, %[[B:.*]]: tensor<?xi64>)
// CHECK: %[[LAST:.*]] = tensor.extract %[[A]]
// CHECK: %[[TOTAL:.*]] = arith.index_cast %[[LAST]]
// CHECK: ragged.assert_valid %[[A]], %[[TOTAL]] {kind = "offsets", level = 1, op = "ragged.assemble"}
// CHECK: %[[N:.*]] = tensor.dim %[[V]]
// CHECK: ragged.assert_valid %[[B]], %[[N]], %[[TOTAL]] {kind = "offsets", level = 2, op = "ragged.assemble"}
func.func @assemble(%v: tensor<?xf32>, %a: tensor<4xi64>, %b: tensor<?xi64>) {
  %x = ragged.assemble %v, %a, %b : (tensor<?xf32>, tensor<4xi64>, tensor<?xi64>) -> tensor<3x?x?xf32, #ragged.layout<"drr">>
  return
}

// Ragged arguments of public functions, with the facts they carry.
// CHECK-LABEL: func.func @argument
// CHECK: %[[S:.*]] = ragged.starts %[[X:.*]] {level = 1}
// CHECK: %[[L:.*]] = ragged.lengths %[[X]] {level = 1}
// CHECK: %[[V:.*]] = ragged.values %[[X]]
// CHECK: %[[N:.*]] = tensor.dim %[[V]]
// CHECK: ragged.assert_valid %[[S]], %[[L]], %[[N]], %{{.*}} {kind = "windows", level = 1, op = "argument 0"}
// CHECK-NEXT: ragged.assert_valid %[[L]] {factor = 4, kind = "divides", level = 1, op = "argument 0"}
// CHECK-NEXT: ragged.assert_valid %[[L]] {factor = 9, kind = "at_most", level = 1, op = "argument 0"}
func.func @argument(%x: tensor<3x?xf32, #ragged.layout<"dw">> {ragged.divisible_by = 4 : i64, ragged.max_length = 9 : i64}) {
  return
}

// CHECK-LABEL: func.func private @private_argument
// CHECK-NOT: ragged.assert
// CHECK: return
func.func private @private_argument(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  return
}

// Vectors as they are stored: the components below a window, the elements of a split level.
// CHECK-LABEL: func.func @stored
// CHECK: %[[S:.*]] = ragged.starts %[[X:.*]] {level = 2}
// CHECK: %[[L:.*]] = ragged.lengths %[[X]] {level = 2, stored}
// CHECK: ragged.assert_valid %[[S]], %[[L]], %{{.*}} {kind = "windows", level = 2, op = "argument 0"}
// CHECK: %[[T:.*]] = ragged.starts %[[Y:.*]] {level = 1}
// CHECK: %[[M:.*]] = ragged.lengths %[[Y]] {level = 1, stored}
// CHECK: ragged.assert_valid %[[T]], %[[M]], %{{.*}} {kind = "windows", level = 1, op = "argument 1"}
func.func @stored(%x: tensor<3x?x?xf32, #ragged.layout<"dww">>, %y: tensor<?x?x4xf32, #ragged.layout<"dwt">>) {
  return
}

// In a loop, what a checked op reads is guarded: passes move ops out of loops.
// CHECK-LABEL: func.func @guarded
// CHECK-SAME: (%[[X:[a-z0-9]+]]: {{[^%]*}}%[[Y:[a-z0-9]+]]:
// CHECK: scf.for
// CHECK:   ragged.assert_conform %[[X]], %[[Y]]
// CHECK:   %[[G:.*]] = ragged.guard %[[X]]
// CHECK:   arith.addf %[[G]], %[[Y]]
func.func @guarded(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %1 = arith.addf %x, %y : tensor<3x?xf32, #ragged.layout<"dr">>
    ragged.print %1 : (tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  }
  return
}

// So is that of a function that is called, which may be inlined into a loop; a choice is no loop.
// CHECK-LABEL: func.func private @called
// CHECK: ragged.guard
// CHECK-LABEL: func.func @caller
// CHECK: scf.if
// CHECK-NOT: ragged.guard
// CHECK: return
func.func private @called(%v: tensor<?xf32>, %i: index) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %o = tensor.from_elements %i, %i : tensor<2xindex>
  %p = tensor.cast %o : tensor<2xindex> to tensor<?xindex>
  %0 = ragged.partition %v, %p {dim = 0} : (tensor<?xf32>, tensor<?xindex>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<?x?xf32, #ragged.layout<"dr">>
}
func.func @caller(%v: tensor<?xf32>, %i: index, %c: i1) {
  scf.if %c {
    %0 = func.call @called(%v, %i) : (tensor<?xf32>, index) -> tensor<?x?xf32, #ragged.layout<"dr">>
    %1 = ragged.select %0, %i {dim = 0} : (tensor<?x?xf32, #ragged.layout<"dr">>, index) -> tensor<?xf32>
  }
  return
}

// Loops that pass on what they carry in other places, or what a loop around them carries: nothing is known of its
// structure.
// CHECK-LABEL: func.func @swapped
// CHECK-SAME: (%{{[a-z0-9]+}}: {{[^%]*}}%{{[a-z0-9]+}}: {{[^%]*}}%[[Z:[a-z0-9]+]]:
// CHECK: %[[R:.*]]:2 = scf.for
// CHECK: ragged.assert_conform %[[R]]#0, %[[Z]]
func.func @swapped(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>,
    %z: tensor<3x?xf32, #ragged.layout<"dr">>, %n: index) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y)
      -> (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) {
    scf.yield %b, %a : tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>
  }
  %1 = arith.addf %0#0, %z : tensor<3x?xf32, #ragged.layout<"dr">>
  return %1 : tensor<3x?xf32, #ragged.layout<"dr">>
}

// CHECK-LABEL: func.func @carried_around
// CHECK-SAME: (%[[X:[a-z0-9]+]]:
// CHECK: %[[R:.*]] = scf.for
// CHECK: ragged.assert_conform %[[R]], %[[X]]
func.func @carried_around(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %n: index) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<3x?xf32, #ragged.layout<"dr">>) {
    %1 = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> (tensor<3x?xf32, #ragged.layout<"dr">>) {
      scf.yield %a : tensor<3x?xf32, #ragged.layout<"dr">>
    }
    scf.yield %1 : tensor<3x?xf32, #ragged.layout<"dr">>
  }
  %2 = arith.addf %0, %x : tensor<3x?xf32, #ragged.layout<"dr">>
  return %2 : tensor<3x?xf32, #ragged.layout<"dr">>
}
