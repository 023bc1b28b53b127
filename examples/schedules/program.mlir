// The sum of every component, and every row less a number per component: two loop nests over the same components.
#j = #ragged.layout<"dr|d">
func.func @centre(%values: tensor<?x64xf32>, %offsets: tensor<?xi64>, %centres: tensor<?x64xf32>)
    -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %x = ragged.partition %values, %offsets {dim = 0} : (tensor<?x64xf32>, tensor<?xi64>) -> tensor<?x?x64xf32, #j>
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %centres, %c0 : tensor<?x64xf32>
  %empty = tensor.empty(%n) : tensor<?x64xf32>
  %none = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %sums = linalg.reduce ins(%x : tensor<?x?x64xf32, #j>) outs(%none : tensor<?x64xf32>) dimensions = [1]
    (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32  linalg.yield %s : f32 }
  %like = ragged.empty %x {from = [[0, 0], [0, 1], [0, 2]]} : (tensor<?x?x64xf32, #j>) -> tensor<?x?x64xf32, #j>
  %y = linalg.generic {indexing_maps = [affine_map<(b, r, d) -> (b, r, d)>, affine_map<(b, r, d) -> (b, d)>,
                                        affine_map<(b, r, d) -> (b, r, d)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%x, %centres : tensor<?x?x64xf32, #j>, tensor<?x64xf32>) outs(%like : tensor<?x?x64xf32, #j>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %d = arith.subf %a, %b : f32
      linalg.yield %d : f32
  } -> tensor<?x?x64xf32, #j>
  %m = ragged.merge %y {dim = 0} : (tensor<?x?x64xf32, #j>) -> tensor<?x64xf32>
  return %sums, %m : tensor<?x64xf32>, tensor<?x64xf32>
}
