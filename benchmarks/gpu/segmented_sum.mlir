// Schedule balanced: the sum of the rows of every component.
#l = #ragged.layout<"dr|d">
!ragged = tensor<?x?x64xf32, #l>

func.func @segmented_sum(%values: tensor<?x64xf32>, %offsets: tensor<?xi64>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %x = ragged.partition %values, %offsets {dim = 0} : (tensor<?x64xf32>, tensor<?xi64>) -> !ragged
  %components = tensor.dim %x, %c0 : !ragged
  %room = tensor.empty(%components) : tensor<?x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%room : tensor<?x64xf32>) -> tensor<?x64xf32>
  %sums = linalg.reduce { arith.addf } ins(%x : !ragged) outs(%zeros : tensor<?x64xf32>) dimensions = [1]
  return %sums : tensor<?x64xf32>
}
