// RUN: ragged-opt %s | FileCheck %s
// RUN: ragged-opt %s | ragged-opt | FileCheck %s
// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s
// RUN: ragged-opt %s --emit-bytecode | ragged-opt | FileCheck %s
// RUN: ragged-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

// Both forms in one file; names in attributes, strings and comments stay: ragged.merge %x.

// CHECK-LABEL: func.func @mixed
// CHECK-SAME: attributes {ragged.note = "ragged.merge %x", ragged.other}
// CHECK: %[[R:.*]] = ragged.partition %arg0, %arg1 {dim = 0, lengths} : (tensor<?x64xf32>, tensor<3xi64>) -> tensor<3x?x64xf32, #ragged.layout<"dr|d">>
// CHECK-NEXT: ragged.print %[[R]] {label = "ragged.merge %x"} : (tensor<3x?x64xf32, #ragged.layout<"dr|d">>) -> ()
// CHECK-NEXT: ragged.concat %[[R]], %[[R]] {dim = 1} :
// CHECK-NEXT: ragged.merge %[[R]] {dim = 0} :
// GENERIC: "ragged.partition"(%{{.*}}, %{{.*}}) {dim = 0 : i64, lengths} :
// GENERIC: "ragged.concat"(%{{.*}}, %{{.*}}) {dim = 1 : i64, operandSegmentSizes = array<i32: 2, 0,
#jagged = #ragged.layout<"dr|d">
func.func @mixed(%x: tensor<?x64xf32>, %l: tensor<3xi64>) -> tensor<?x64xf32>
    attributes {ragged.note = "ragged.merge %x", ragged.other} {
  %r = ragged.partition %x, %l {dim = 0, lengths} : (tensor<?x64xf32>, tensor<3xi64>) -> tensor<3x?x64xf32, #jagged>
  ragged.print %r {label = "ragged.merge %x"} : (tensor<3x?x64xf32, #jagged>) -> ()
  %c = ragged.concat %r, // two of them
         %r {dim = 1}
       : (tensor<3x?x64xf32, #jagged>, tensor<3x?x64xf32, #jagged>) -> tensor<3x?x64xf32, #jagged>
  %m = "ragged.merge"(%r) {dim = 0 : i64} : (tensor<3x?x64xf32, #jagged>) -> tensor<?x64xf32>
  return %m : tensor<?x64xf32>
}
