// RUN: ragged-opt %s --split-input-file --ragged-distribute=ranks=2 --verify-diagnostics

#j = #ragged.layout<"dr">

// expected-error@+1 {{expected a leading extent that 2 ranks divide, got tensor<3x4xf32>}}
func.func @uneven(%x: tensor<3x4xf32> {ragged.sharded}) { return }

// -----

func.func @sum(%x: tensor<4x8xf32> {ragged.sharded}, %init: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{expected ranks that are apart, got 'linalg.reduce' over the leading dim}}
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<4x8xf32>) outs(%init : tensor<8xf32>) dimensions = [0]
  return %0 : tensor<8xf32>
}

// -----

func.func @softmax(%x: tensor<4x8xf32> {ragged.sharded}) -> tensor<4x8xf32> {
  // expected-error@+1 {{expected ranks that are apart, got 'linalg.softmax' over the leading dim}}
  %0 = linalg.softmax dimension(0) ins(%x : tensor<4x8xf32>) outs(%x : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @partition(%x: tensor<4xf32> {ragged.sharded}, %o: tensor<3xi64>) -> tensor<2x?xf32, #ragged.layout<"dr">> {
  // expected-error@+1 {{expected ranks that are apart, got 'ragged.partition' of the leading dim}}
  %0 = ragged.partition %x, %o {dim = 0} : (tensor<4xf32>, tensor<3xi64>) -> tensor<2x?xf32, #ragged.layout<"dr">>
  return %0 : tensor<2x?xf32, #ragged.layout<"dr">>
}

// -----

func.func @whole(%x: tensor<4x8xf32> {ragged.sharded}, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{expected operands that are sharded, too, got %arg1, which every rank has whole}}
  %0 = arith.addf %x, %y : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @index(%x: tensor<4x8xi64> {ragged.sharded}) -> tensor<4x8xi64> {
  // expected-error@+1 {{expected ranks that are apart, got 'linalg.generic' with an index of the leading dim}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%x : tensor<4x8xi64>) {
  ^bb0(%a: i64):
    %i = linalg.index 0 : index
    %c = arith.index_cast %i : index to i64
    linalg.yield %c : i64
  } -> tensor<4x8xi64>
  return %0 : tensor<4x8xi64>
}

// -----

func.func @diagonal(%x: tensor<4x4xf32> {ragged.sharded}, %y: tensor<4xf32> {ragged.sharded}) -> tensor<4xf32> {
  // expected-error@+1 {{expected ranks that are apart, got 'linalg.generic', which takes the leading dim for dim 1}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4x4xf32>) outs(%y : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @dense(%x: tensor<2x4xf32> {ragged.sharded}, %y: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // expected-error@+1 {{expected a transpose of the first two dims of a nested axis, got permutation [1, 0] of tensor<4x2xf32>}}
  %0 = linalg.transpose ins(%x : tensor<2x4xf32>) outs(%y : tensor<4x2xf32>) permutation = [1, 0]
  return %0 : tensor<4x2xf32>
}

// -----

#k = #ragged.layout<"ddr">
func.func @neither(%x: tensor<4x6x?xf32, #k> {ragged.sharded}) -> tensor<6x4x?xf32, #k> {
  %0 = ragged.empty %x {from = [[0, 1], [0, 0], [0, 2]]} : (tensor<4x6x?xf32, #k>) -> tensor<6x4x?xf32, #k>
  // expected-error@+1 {{expected a leading dim of 2 ranks before or after, got tensor<6x4x?xf32, #ragged.layout<"ddr">>}}
  %1 = linalg.transpose ins(%x : tensor<4x6x?xf32, #k>) outs(%0 : tensor<6x4x?xf32, #k>) permutation = [1, 0, 2]
  return %1 : tensor<6x4x?xf32, #k>
}

// -----

func.func private @g(tensor<4x8xf32>)
func.func @call(%x: tensor<4x8xf32> {ragged.sharded}) {
  // expected-error@+1 {{expected an op that keeps ranks apart, got 'func.call'}}
  call @g(%x) : (tensor<4x8xf32>) -> ()
  return
}

// -----

func.func @if(%x: tensor<4x8xf32> {ragged.sharded}, %c: i1) -> i64 {
  %a = arith.constant 0 : i64
  // expected-error@+1 {{expected ranks that are apart, got 'scf.if', whose body reads what is sharded}}
  %0 = scf.if %c -> i64 {
    "ragged.print"(%x) : (tensor<4x8xf32>) -> ()
    scf.yield %a : i64
  } else {
    scf.yield %a : i64
  }
  return %0 : i64
}

// -----

// expected-error@+1 {{expected a function of one block, got another one}}
func.func @blocks(%x: tensor<4x8xf32> {ragged.sharded}) {
  cf.br ^bb1
^bb1:
  return
}

// -----

#k = #ragged.layout<"ddr">
func.func @filled(%x: tensor<2x4x?xf32, #k> {ragged.sharded}, %y: tensor<2x4x?xf32, #k>) -> (tensor<4x2x?xf32, #k>, tensor<4x2x?xf32, #k>) {
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{expected a transpose into it, got another use}}
  %0 = ragged.empty %x {from = [[0, 1], [0, 0], [0, 2]]} : (tensor<2x4x?xf32, #k>) -> tensor<4x2x?xf32, #k>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4x2x?xf32, #k>) -> tensor<4x2x?xf32, #k>
  %2 = ragged.empty %y {from = [[0, 1], [0, 0], [0, 2]]} : (tensor<2x4x?xf32, #k>) -> tensor<4x2x?xf32, #k>
  return %1, %2 : tensor<4x2x?xf32, #k>, tensor<4x2x?xf32, #k>
}

// -----

// Nobody knows how many experts there are before the program runs.
#k = #ragged.layout<"ddr">
func.func @dynamic(%x: tensor<2x?x?xf32, #k> {ragged.sharded}) -> tensor<?x2x?xf32, #k> {
  %0 = ragged.empty %x {from = [[0, 1], [0, 0], [0, 2]]} : (tensor<2x?x?xf32, #k>) -> tensor<?x2x?xf32, #k>
  // expected-error@+1 {{expected two static extents to exchange, got tensor<?x2x?xf32, #ragged.layout<"ddr">>}}
  %1 = linalg.transpose ins(%x : tensor<2x?x?xf32, #k>) outs(%0 : tensor<?x2x?xf32, #k>) permutation = [1, 0, 2]
  return %1 : tensor<?x2x?xf32, #k>
}

// -----

// They are no rows: each rank would take its own half of them for all.
func.func @offsets(%x: tensor<2x8xf32> {ragged.sharded}, %o: tensor<4xi64> {ragged.sharded}) -> tensor<2x3x?xf32, #ragged.layout<"d|dr">> {
  // expected-error@+1 {{expected offsets of rank 2, a row for each component, got rank 1}}
  %0 = ragged.partition %x, %o {dim = 1} : (tensor<2x8xf32>, tensor<4xi64>) -> tensor<2x3x?xf32, #ragged.layout<"d|dr">>
  return %0 : tensor<2x3x?xf32, #ragged.layout<"d|dr">>
}

// -----

func.func @dropped(%x: tensor<4x8xf32> {ragged.sharded}, %y: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{expected ranks that are apart, got 'linalg.generic' with a result without the leading dim}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%y : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error@+1 {{expected a function that nobody calls, got a call of it}}
func.func @called(%x: tensor<4x8xf32> {ragged.sharded}) -> tensor<4x8xf32> { return %x : tensor<4x8xf32> }
func.func @calls(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = call @called(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
