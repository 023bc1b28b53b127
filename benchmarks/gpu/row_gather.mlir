// Schedule gather: the rows with some numbers, as tokens take theirs from a table of embeddings.
#number = affine_map<(i, d) -> (i)>
#row = affine_map<(i, d) -> (i, d)>

func.func @row_gather(%values: tensor<?x64xf32>, %numbers: tensor<?xi64>, %offsets: tensor<?xi64>)
    -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = ragged.partition %numbers, %offsets {dim = 0}
      : (tensor<?xi64>, tensor<?xi64>) -> tensor<?x?xi64, #ragged.layout<"dr">>
  %flat = ragged.merge %n {dim = 0} : (tensor<?x?xi64, #ragged.layout<"dr">>) -> tensor<?xi64>
  %rows = tensor.dim %flat, %c0 : tensor<?xi64>
  %room = tensor.empty(%rows) : tensor<?x64xf32>
  %y = linalg.generic {indexing_maps = [#number, #row], iterator_types = ["parallel", "parallel"]}
      ins(%flat : tensor<?xi64>) outs(%room : tensor<?x64xf32>) {
  ^bb0(%number: i64, %b: f32):
    %at = arith.index_cast %number : i64 to index
    %feature = linalg.index 1 : index
    %r = tensor.extract %values[%at, %feature] : tensor<?x64xf32>
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
