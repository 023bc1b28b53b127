// Schedule flat: every element times a number, plus itself.
#l = #ragged.layout<"dr|d">
#all = affine_map<(b, i, d) -> (b, i, d)>
!ragged = tensor<?x?x64xf32, #l>

func.func @scale(%values: tensor<?x64xf32>, %offsets: tensor<?xi64>, %factor: f32) -> tensor<?x64xf32> {
  %x = ragged.partition %values, %offsets {dim = 0} : (tensor<?x64xf32>, tensor<?xi64>) -> !ragged
  %room = ragged.empty %x : (!ragged) -> !ragged
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : !ragged) outs(%room : !ragged) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %factor : f32
    %r = arith.addf %m, %a : f32
    linalg.yield %r : f32
  } -> !ragged
  %result = ragged.merge %y {dim = 0} : (!ragged) -> tensor<?x64xf32>
  return %result : tensor<?x64xf32>
}
