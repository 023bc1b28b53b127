#l = #ragged.layout<"dr|d">
func.func @sums(%x: tensor<?x?x64xf32, #l>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %components = tensor.dim %x, %c0 : tensor<?x?x64xf32, #l>
  %room = tensor.empty(%components) : tensor<?x64xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%room : tensor<?x64xf32>) -> tensor<?x64xf32>
  %sums = linalg.reduce { arith.addf } ins(%x : tensor<?x?x64xf32, #l>) outs(%zeros : tensor<?x64xf32>) dimensions = [1]
  return %sums : tensor<?x64xf32>
}
