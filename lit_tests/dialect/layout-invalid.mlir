// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// Axes start dense.
// expected-error@+1 {{'func.func' op expected axis "rd" of layout "rd" to start with 'd', got 'r'}}
func.func private @layout_0(tensor<3x?xf32, #ragged.layout<"rd">>)

// -----

// Four letters.
// expected-error@+1 {{'func.func' op expected letters d, r, w, t in layout "dx", got 'x'}}
func.func private @layout_1() -> tensor<3x?xf32, #ragged.layout<"dx">>

// -----

// No empty axes.
// expected-error@+1 {{'func.func' op expected a letter in every axis of layout "dr|", got an empty axis}}
func.func private @layout_2(tensor<3x?xf32, #ragged.layout<"dr|">>)

// -----

// One spelling: dense dims at the end are axes.
// expected-error@+1 {{'func.func' op expected axis "drd" of layout "drd" to be spelled dr|d, got trailing 'd'}}
func.func private @layout_3(tensor<3x?x4xf32, #ragged.layout<"drd">>)

// -----

// One spelling: dense tensors have no layout.
// expected-error@+1 {{'func.func' op expected a layout with a ragged or tiled axis, got "d|d" (drop the layout)}}
func.func private @layout_4(tensor<3x4xf32, #ragged.layout<"d|d">>)

// -----

// Tiles are the last levels.
// expected-error@+1 {{'func.func' op expected axis "dtr" of layout "dtr" to be without levels below a tile, got 'r' below 't'}}
func.func private @layout_5(tensor<3x4x?xf32, #ragged.layout<"dtr">>)

// -----

// A split batch is a batch.
// expected-error@+1 {{'func.func' op expected axis "ddt" of layout "ddt" to be 'd', or to have 'r' or 'w' before its tiles, got 'd'}}
func.func private @layout_6(tensor<3x4x2xf32, #ragged.layout<"ddt">>)

// -----

// One letter per dim.
// expected-error@+1 {{'func.func' op expected 2 letters in layout "dr|d" for a tensor of rank 2, got 3}}
func.func private @layout_7(tensor<3x?xf32, #ragged.layout<"dr|d">>)

// -----

// Ragged dims have no one extent.
// expected-error@+1 {{'func.func' op expected extent ? on ragged dim 1 of layout "dr", got 4}}
func.func private @layout_8(tensor<3x4xf32, #ragged.layout<"dr">>)

// -----

// Tiles have.
// expected-error@+1 {{'func.func' op expected a static extent on tile dim 2 of layout "drt", got ?}}
func.func private @layout_9(tensor<3x?x?xf32, #ragged.layout<"drt">>)

// -----

// Of 1 at least.
// expected-error@+1 {{'func.func' op expected an extent of at least 1 on tile dim 1 of layout "dt", got 0}}
func.func private @layout_10(tensor<3x0xf32, #ragged.layout<"dt">>)

// -----

// Layouts of others are not ours.
// expected-error@+1 {{'func.func' op expected a tensor with a #ragged.layout encoding or none, got "odd"}}
func.func private @layout_11(tensor<3xf32, "odd">)

// -----

// Tensors only.
// expected-error@+1 {{'func.func' op expected a layout on a tensor that is not part of another type, got memref<3x?xf32, #ragged.layout<"dr">>}}
func.func private @layout_12(memref<3x?xf32, #ragged.layout<"dr">>)

// -----

// Not inside other types.
// expected-error@+1 {{'func.func' op expected a layout on a tensor that is not part of another type, got tuple<tensor<3x?xf32, #ragged.layout<"dr">>>}}
func.func private @layout_13(tuple<tensor<3x?xf32, #ragged.layout<"dr">>>)

// -----

// A layout is one wherever it appears: in an attribute of no meaning,
// expected-error@+1 {{'func.func' op expected letters d, r, w, t in layout "zz", got 'z'}}
func.func private @layout_in_attribute() attributes {test.layout = #ragged.layout<"zz">}

// -----

// inside of one,
func.func @layout_inside() {
  // expected-error@+1 {{'arith.constant' op expected axis "r" of layout "d|r" to start with 'd', got 'r'}}
  %0 = arith.constant {test.all = [1, {test.layout = #ragged.layout<"d|r">}]} 0 : index
  return
}

// -----

// of a module,
// expected-error@+1 {{'builtin.module' op expected a layout with a ragged or tiled axis, got "d" (drop the layout)}}
module attributes {test.layout = #ragged.layout<"d">} {
}

// -----

// and in a type that an attribute names.
// expected-error@+1 {{'func.func' op expected extent ? on ragged dim 1 of layout "dr", got 2}}
func.func private @layout_in_type() attributes {test.type = tensor<2x2xf32, #ragged.layout<"dr">>}
