// Schedule balanced, elementwise: a row of its own for every component, added to each of its rows.
#l = #ragged.layout<"dr|d">
#all = affine_map<(b, i, d) -> (b, i, d)>
#own = affine_map<(b, i, d) -> (b, d)>
!ragged = tensor<?x?x64xf32, #l>

func.func @component_bias(%values: tensor<?x64xf32>, %offsets: tensor<?xi64>, %bias: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %x = ragged.partition %values, %offsets {dim = 0} : (tensor<?x64xf32>, tensor<?xi64>) -> !ragged
  %room = ragged.empty %x : (!ragged) -> !ragged
  %y = linalg.generic {indexing_maps = [#all, #own, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %bias : !ragged, tensor<?x64xf32>) outs(%room : !ragged) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> !ragged
  %result = ragged.merge %y {dim = 0} : (!ragged) -> tensor<?x64xf32>
  return %result : tensor<?x64xf32>
}
