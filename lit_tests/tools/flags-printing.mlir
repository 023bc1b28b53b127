// RUN: ragged-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: ragged-opt %s --mlir-print-debuginfo | FileCheck %s --check-prefix=DEBUG
// RUN: ragged-opt %s --mlir-print-debuginfo --mlir-pretty-debuginfo | FileCheck %s --check-prefix=PRETTY
// RUN: ragged-opt %s --mlir-print-local-scope --mlir-print-assume-verified | FileCheck %s --check-prefix=LOCAL
// RUN: ragged-opt %s --mlir-use-nameloc-as-prefix | FileCheck %s --check-prefix=NAMED
// RUN: ragged-opt %s --mlir-print-skip-regions | FileCheck %s --check-prefix=SKIP
// RUN: ragged-opt %s --mlir-elide-elementsattrs-if-larger=2 | FileCheck %s --check-prefix=ELEMENTS
// RUN: ragged-opt %s --mlir-elide-resource-strings-if-larger=2 | FileCheck %s --check-prefix=RESOURCES
// RUN: ragged-opt %s --mlir-print-elementsattrs-with-hex-if-larger=2 | FileCheck %s --check-prefix=HEX
// RUN: ragged-opt %s --mlir-print-value-users | FileCheck %s --check-prefix=USERS
// RUN: ragged-opt %s --mlir-print-unique-ssa-ids | FileCheck %s --check-prefix=UNIQUE
// RUN: ragged-opt %s --mlir-print-value-users --mlir-print-op-generic | FileCheck %s --check-prefix=BOTH

// GENERIC: "ragged.partition"(%arg1, %arg2)
// DEBUG: ragged.partition {{.*}} loc(#[[LOC:loc[0-9]+]])
// DEBUG: #[[LOC]] = loc("r")
// PRETTY: ragged.partition {{.*}} "r"
// LOCAL-NOT: #map
// LOCAL: affine_map<(d0) -> (d0)>
// NAMED: %r = ragged.partition %x, %arg1
// SKIP: module {...}
// ELEMENTS: arith.constant dense_resource<__elided__> : tensor<4xi64>
// RESOURCES: dense_resource<blob>
// RESOURCES-NOT: blob:
// HEX: ragged.partition %arg0
// HEX: arith.constant dense<"0x0100000000000000020000000000000003000000000000000400000000000000">
// USERS: // %arg0 is used by %[[R:[0-9]+]]
// USERS: %[[R]] = ragged.partition {{.*}} // user: %
// UNIQUE-LABEL: func.func @f(%arg1
// UNIQUE: %1 = ragged.partition %arg1, %arg2
// UNIQUE-LABEL: func.func @g(%arg0
// UNIQUE: %0 = arith.addi
// BOTH: %{{[0-9]+}} = "ragged.partition"({{.*}} // user:
#map = affine_map<(d0) -> (d0)>
func.func @f(%x: tensor<?xf32> loc("x"), %o: tensor<4xi64>) -> tensor<?xf32> attributes {m = #map} {
  %r = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">> loc("r")
  %m = ragged.merge %r {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
  return %m : tensor<?xf32>
}
func.func @g(%x: i32) -> (tensor<4xi64>, tensor<2xi32>, i32) {
  %0 = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  %1 = arith.constant dense_resource<blob> : tensor<2xi32>
  %2 = arith.addi %x, %x : i32
  return %0, %1, %2 : tensor<4xi64>, tensor<2xi32>, i32
}
{-# dialect_resources: { builtin: { blob: "0x040000000100000002000000" } } #-}
