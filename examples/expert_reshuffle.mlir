// Tokens of a mixture-of-experts layer, from where they are to where their expert is, on one process.
//
// Two GPUs have 100 tokens each, ordered by expert; row g of %offsets says where each expert's
// tokens start on GPU g. The steps return their lengths, which have no more than one number per
// (GPU, expert), and the last one the tokens.

#ranked = #ragged.layout<"ddr|d">
#experts = #ragged.layout<"dr|d">

func.func @expert_reshuffle(%tokens: tensor<2x100x8xf32>, %offsets: tensor<2x5xi64>)
    -> (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, tensor<2x2x?x8xf32, #ranked>) {
  // [gpu, token, H] -> [gpu, expert, token, H], a view: offsets of rank 2 are per GPU.
  %sent = ragged.partition %tokens, %offsets {dim = 1}
      : (tensor<2x100x8xf32>, tensor<2x5xi64>) -> tensor<2x4x?x8xf32, #ranked>

  // -> [expert, gpu, token, H]: the one step that moves tokens.
  %room = ragged.empty %sent {from = [[0, 1], [0, 0], [0, 2], -1]}
      : (tensor<2x4x?x8xf32, #ranked>) -> tensor<4x2x?x8xf32, #ranked>
  %received = linalg.transpose ins(%sent : tensor<2x4x?x8xf32, #ranked>)
      outs(%room : tensor<4x2x?x8xf32, #ranked>) permutation = [1, 0, 2, 3]

  // -> [expert, token, H]: an expert's tokens of all GPUs lie together now.
  %merged = ragged.merge %received {dim = 1} : (tensor<4x2x?x8xf32, #ranked>) -> tensor<4x?x8xf32, #experts>

  // -> [device, expert of the device, token, H].
  %placed = ragged.split %merged {dim = 0, factor = 2}
      : (tensor<4x?x8xf32, #experts>) -> tensor<2x2x?x8xf32, #ranked>

  %n0 = ragged.lengths %sent {level = 2} : (tensor<2x4x?x8xf32, #ranked>) -> tensor<?xi64>
  %n1 = ragged.lengths %received {level = 2} : (tensor<4x2x?x8xf32, #ranked>) -> tensor<?xi64>
  %n2 = ragged.lengths %merged {level = 1} : (tensor<4x?x8xf32, #experts>) -> tensor<?xi64>
  %n3 = ragged.lengths %placed {level = 2} : (tensor<2x2x?x8xf32, #ranked>) -> tensor<?xi64>
  return %n0, %n1, %n2, %n3, %placed
      : tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, tensor<2x2x?x8xf32, #ranked>
}
