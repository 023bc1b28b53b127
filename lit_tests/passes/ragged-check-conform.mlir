// RUN: ragged-opt %s --ragged-check-conform=report=true | FileCheck %s

// CHECK: module attributes {ragged.checks_dropped = 18 : i64, ragged.checks_kept = 14 : i64}

// One vector made both levels.
// CHECK-LABEL: func.func @same_vector
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @same_vector(%a: tensor<?xf32>, %b: tensor<?xf32>, %o: tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %x = ragged.partition %a, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %y = ragged.partition %b, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %e = math.exp %x : tensor<?x?xf32, #ragged.layout<"dr">>
  ragged.assert_conform %e, %y {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "arith.addf"}
      : (tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x?xf32, #ragged.layout<"dr">>) -> ()
  %z = arith.addf %e, %y : tensor<?x?xf32, #ragged.layout<"dr">>
  return %z : tensor<?x?xf32, #ragged.layout<"dr">>
}

// The same checks of the same vector once; of another extent again.
// CHECK-LABEL: func.func @same_offsets
// CHECK-COUNT-2: ragged.assert_valid
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @same_offsets(%o: tensor<?xi32>, %n: index, %m: index) {
  %w = arith.extsi %o : tensor<?xi32> to tensor<?xi64>
  ragged.assert_valid %o, %n {kind = "offsets", op = "ragged.partition", level = 1} : (tensor<?xi32>, index) -> ()
  ragged.assert_valid %w, %n {kind = "offsets", op = "ragged.partition", level = 2} : (tensor<?xi64>, index) -> ()
  ragged.assert_valid %o, %m {kind = "offsets", op = "ragged.partition", level = 1} : (tensor<?xi32>, index) -> ()
  return
}

// What held once holds again, whichever way round; results have the structure of their operands.
// CHECK-LABEL: func.func @repeated
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[Y:[a-z0-9]*]]: tensor<3x?xf32, #ragged.layout<"dr">>)
// CHECK-NEXT: ragged.assert_conform %[[X]], %[[Y]]
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @repeated(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>) {
  ragged.assert_conform %x, %y {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "arith.addf"}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  %a = arith.addf %x, %y : tensor<3x?xf32, #ragged.layout<"dr">>
  ragged.assert_conform %y, %a {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "arith.addf"}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  ragged.assert_conform %y, %x {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "arith.addf"}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  return
}

// A check inside a region says nothing about what follows; one before the region does inside.
// CHECK-LABEL: func.func @regions
// CHECK: scf.if
// CHECK-NEXT: ragged.assert_conform
// CHECK-NEXT: }
// CHECK-NEXT: ragged.assert_conform
// CHECK-NEXT: scf.if
// CHECK-NEXT: }
func.func @regions(%k: i1, %x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>) {
  scf.if %k {
    ragged.assert_conform %x, %y {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "arith.addf"}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  }
  ragged.assert_conform %x, %y {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "arith.addf"}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  scf.if %k {
    ragged.assert_conform %x, %y {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "arith.addf"}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  }
  return
}

// The check that is left compares where the structures began.
// CHECK-LABEL: func.func @origins
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<3x?xf32, #ragged.layout<"dr">>, %[[Y:[a-z0-9]*]]: tensor<3x?xf32, #ragged.layout<"dr">>)
// CHECK: ragged.assert_conform %[[X]], %[[Y]]
func.func @origins(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %y: tensor<3x?xf32, #ragged.layout<"dr">>) {
  %e = math.exp %x : tensor<3x?xf32, #ragged.layout<"dr">>
  ragged.assert_conform %e, %y {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "arith.addf"}
      : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
  return
}

// Equal splits of conforming tensors conform, by other factors they do not.
// CHECK-LABEL: func.func @splits
// CHECK: %[[U:.*]] = ragged.merge
// CHECK: ragged.assert_conform %{{.*}}, %[[U]]
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @splits(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  %e = math.exp %x : tensor<3x?xf32, #ragged.layout<"dr">>
  %s = ragged.split %x {dim = 1, factor = 2} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?x2xf32, #ragged.layout<"drt">>
  %t = ragged.split %e {dim = 1, factor = 2} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?x2xf32, #ragged.layout<"drt">>
  %4 = ragged.split %e {dim = 1, factor = 4} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?x4xf32, #ragged.layout<"drt">>
  %5 = ragged.split %4 {dim = 2, factor = 2} : (tensor<3x?x4xf32, #ragged.layout<"drt">>) -> tensor<3x?x2x2xf32, #ragged.layout<"drtt">>
  %u = ragged.merge %5 {dim = 1} : (tensor<3x?x2x2xf32, #ragged.layout<"drtt">>) -> tensor<3x?x2xf32, #ragged.layout<"drt">>
  ragged.assert_conform %s, %t {lhs = array<i64: 0, 1, 2>, rhs = array<i64: 0, 1, 2>, op = "arith.addf"}
      : (tensor<3x?x2xf32, #ragged.layout<"drt">>, tensor<3x?x2xf32, #ragged.layout<"drt">>) -> ()
  ragged.assert_conform %s, %u {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "arith.addf"}
      : (tensor<3x?x2xf32, #ragged.layout<"drt">>, tensor<3x?x2xf32, #ragged.layout<"drt">>) -> ()
  return
}

// Extents: constants, and the longest length, which reaches every length.
// CHECK-LABEL: func.func @extents
// CHECK: ragged.assert_valid %{{.*}}, %{{.*}} {kind = "equal", level = 1
// CHECK-NEXT: ragged.assert_valid %{{.*}}, %{{.*}} {kind = "equal", level = 2
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @extents(%x: tensor<3x?xf32, #ragged.layout<"dr">>, %n: index, %m: index) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %h = ragged.max_length %x {level = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> index
  %l = ragged.lengths %x {level = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
  ragged.assert_valid %h, %l {kind = "covers", op = "ragged.to_padded", level = 0} : (index, tensor<?xi64>) -> ()
  ragged.assert_valid %c2, %c3 {kind = "equal", op = "tensor.cast", level = 1} : (index, index) -> ()
  ragged.assert_valid %n, %m {kind = "equal", op = "tensor.cast", level = 2} : (index, index) -> ()
  ragged.assert_valid %m, %n {kind = "equal", op = "tensor.cast", level = 3} : (index, index) -> ()
  return
}

// What is cut into components and merged again has the extent that it had: so have all that are cut at the same places.
// CHECK-LABEL: func.func @merged
// CHECK: ragged.assert_valid
// CHECK-NOT: ragged.assert_valid
// CHECK: return
func.func @merged(%x: tensor<?xf32>, %o: tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  ragged.assert_valid %o, %n {kind = "offsets", op = "ragged.partition", level = 1} : (tensor<?xi64>, index) -> ()
  %p = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %e = math.exp %p : tensor<?x?xf32, #ragged.layout<"dr">>
  %y = ragged.merge %e {dim = 0} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
  %m = tensor.dim %y, %c0 : tensor<?xf32>
  ragged.assert_valid %o, %m {kind = "offsets", op = "ragged.partition", level = 1} : (tensor<?xi64>, index) -> ()
  %q = ragged.partition %y, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %q : tensor<?x?xf32, #ragged.layout<"dr">>
}

// An argument is the extent of what was merged, and with it that of all that is cut at the same places.
// CHECK-LABEL: func.func @total_of_an_argument
// CHECK-COUNT-2: ragged.assert_valid
// CHECK-NOT: ragged.assert_valid
// CHECK: return
func.func @total_of_an_argument(%x: tensor<?x?xf32, #ragged.layout<"dr">>, %n: index, %a: tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %o = ragged.offsets %x {level = 1} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
  %y = ragged.merge %x {dim = 0} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
  %m = tensor.dim %y, %c0 : tensor<?xf32>
  ragged.assert_valid %n, %m {kind = "equal", op = "linalg.reduce", level = 0} : (index, index) -> ()
  %k = tensor.dim %a, %c0 : tensor<?xf32>
  ragged.assert_valid %o, %k {kind = "offsets", op = "ragged.partition", level = 1} : (tensor<?xi64>, index) -> ()
  ragged.assert_valid %k, %n {kind = "equal", op = "linalg.reduce", level = 0} : (index, index) -> ()
  return
}

// What a check says holds to the end of its block, and not behind it.
// CHECK-LABEL: func.func @scopes
// CHECK: scf.if
// CHECK-NEXT: op = "inside"
// CHECK-NEXT: }
// CHECK-NEXT: op = "behind"
func.func @scopes(%y: tensor<?x?xf32, #ragged.layout<"dr">>, %z: tensor<?x?xf32, #ragged.layout<"dr">>,
                  %a: tensor<?xf32>, %c: i1) {
  %o = ragged.offsets %y {level = 1} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
  %p = ragged.partition %a, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  scf.if %c {
    ragged.assert_conform %z, %y {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "inside"}
        : (tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x?xf32, #ragged.layout<"dr">>) -> ()
    ragged.assert_conform %p, %z {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "inside too"}
        : (tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x?xf32, #ragged.layout<"dr">>) -> ()
  }
  ragged.assert_conform %p, %z {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "behind"}
      : (tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x?xf32, #ragged.layout<"dr">>) -> ()
  return
}

// What is known to hold says so to the checks before it, too, and is no check itself.
// CHECK-LABEL: func.func @known
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @known(%x: tensor<?x?xf32, #ragged.layout<"dr">>, %p: tensor<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %p, %c0 : tensor<?x?xf32>
  %k = tensor.dim %p, %c1 : tensor<?x?xf32>
  %l = ragged.lengths %x {level = 1} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
  ragged.assert_valid %n, %b {kind = "equal", op = "add", level = 0} : (index, index) -> ()
  ragged.assert_valid %k, %l {kind = "covers", op = "add", level = 1} : (index, tensor<?xi64>) -> ()
  ragged.assert_valid %b, %n {kind = "equal", op = "add", level = 0, ragged.checked} : (index, index) -> ()
  ragged.assert_valid %k, %l {kind = "covers", op = "add", level = 1, ragged.checked} : (index, tensor<?xi64>) -> ()
  return
}

// Extents of unit dims beside a vector are those of the vector; there is a length for each component.
// CHECK-LABEL: func.func @expanded
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @expanded(%x: tensor<?x?xf32, #ragged.layout<"dr">>, %v: tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32, #ragged.layout<"dr">>
  %l = ragged.lengths %x {level = 1} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
  %m = tensor.dim %l, %c0 : tensor<?xi64>
  %k = tensor.dim %v, %c0 : tensor<?xf32>
  %e = tensor.expand_shape %v [[0, 1]] output_shape [%k, 1] : tensor<?xf32> into tensor<?x1xf32>
  %d = tensor.dim %e, %c0 : tensor<?x1xf32>
  ragged.assert_valid %m, %n {kind = "equal", op = "divide", level = 0} : (index, index) -> ()
  ragged.assert_valid %d, %k {kind = "equal", op = "subtract", level = 0} : (index, index) -> ()
  return
}

// What is known to hold is dropped once, though its operands become those that they are made of.
// CHECK-LABEL: func.func @known_of_what_is_made
// CHECK-NOT: ragged.assert
// CHECK: return
func.func @known_of_what_is_made(%x: tensor<?x?xf32, #ragged.layout<"dr">>, %y: tensor<?x?xf32, #ragged.layout<"dr">>) {
  %z = arith.negf %x : tensor<?x?xf32, #ragged.layout<"dr">>
  ragged.assert_conform %z, %y {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "add", ragged.checked}
    : (tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x?xf32, #ragged.layout<"dr">>) -> ()
  return
}
