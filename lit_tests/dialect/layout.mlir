// RUN: ragged-opt %s --mlir-print-op-generic | ragged-opt | FileCheck %s

// Layouts of every kind in a signature, one of them by an alias, another one nested in a call.

#jagged = #ragged.layout<"dr">

// CHECK: func.func private @one_ragged_dim(tensor<3x?x512xf32, #ragged.layout<"dr|d">>)
func.func private @one_ragged_dim(tensor<3x?x512xf32, #ragged.layout<"dr|d">>)

// CHECK: func.func private @uniform_subdivision(tensor<3x2x?x512xf32, #ragged.layout<"ddr|d">>)
func.func private @uniform_subdivision(tensor<3x2x?x512xf32, #ragged.layout<"ddr|d">>)

// CHECK: func.func private @list_of_lists(tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>)
func.func private @list_of_lists(tensor<4x?x?x8xf32, #ragged.layout<"drr|d">>)

// CHECK: func.func private @three_levels(tensor<?x?x?x?xi8, #ragged.layout<"drrr">>)
func.func private @three_levels(tensor<?x?x?x?xi8, #ragged.layout<"drrr">>)

// CHECK: func.func private @batch_below_ragged(tensor<4x?x2x?xf64, #ragged.layout<"drdr">>)
func.func private @batch_below_ragged(tensor<4x?x2x?xf64, #ragged.layout<"drdr">>)

// CHECK: func.func private @independent(tensor<2x?x8x?x512xf32, #ragged.layout<"dr|dr|d">>)
func.func private @independent(tensor<2x?x8x?x512xf32, #ragged.layout<"dr|dr|d">>)

// CHECK: func.func private @window(tensor<3x?x512xbf16, #ragged.layout<"dw|d">>)
func.func private @window(tensor<3x?x512xbf16, #ragged.layout<"dw|d">>)

// CHECK: func.func private @window_below_ragged(tensor<3x?x?xi1, #ragged.layout<"drw">>)
func.func private @window_below_ragged(tensor<3x?x?xi1, #ragged.layout<"drw">>)

// CHECK: func.func private @ragged_below_window(tensor<3x?x?xi32, #ragged.layout<"dwr">>)
func.func private @ragged_below_window(tensor<3x?x?xi32, #ragged.layout<"dwr">>)

// CHECK: func.func private @split(tensor<3x?x16x512xf32, #ragged.layout<"drt|d">>)
func.func private @split(tensor<3x?x16x512xf32, #ragged.layout<"drt|d">>)

// CHECK: func.func private @split_twice(tensor<3x?x4x4xf16, #ragged.layout<"drtt">>)
func.func private @split_twice(tensor<3x?x4x4xf16, #ragged.layout<"drtt">>)

// CHECK: func.func private @split_dense(tensor<2x4xindex, #ragged.layout<"dt">>)
func.func private @split_dense(tensor<2x4xindex, #ragged.layout<"dt">>)

// CHECK: func.func private @leading_dense_axis(tensor<5x3x?xf32, #ragged.layout<"d|dr">>)
func.func private @leading_dense_axis(tensor<5x3x?xf32, #ragged.layout<"d|dr">>)

// CHECK-LABEL: func.func @alias(
// CHECK-SAME: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
func.func @alias(%x: tensor<3x?xf32, #jagged>) -> tensor<3x?xf32, #jagged> {
  // CHECK: call @alias(%{{.*}}) : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %0 = func.call @alias(%x) : (tensor<3x?xf32, #jagged>) -> tensor<3x?xf32, #jagged>
  return %0 : tensor<3x?xf32, #jagged>
}

// An attribute may hold a layout, or name a type that has one.
// CHECK: func.func private @held() attributes {test.layout = #ragged.layout<"dr">, test.type = tensor<3x?xf32, #ragged.layout<"dr">>}
func.func private @held() attributes {test.layout = #ragged.layout<"dr">, test.type = tensor<3x?xf32, #jagged>}
