// Attention pooling over documents of different lengths: every document becomes one vector.
//
//   score[doc, word]  = features[doc, word] . query
//   weight[doc, :]    = softmax of the scores of the document's own words
//   pooled[doc]       = sum over words of weight * features
//
// The words of all documents lie one after the other in %words; document d has the rows
// %offsets[d] to %offsets[d + 1]. Nothing is padded and nothing is copied to make it ragged.

#docs = #ragged.layout<"dr|d">
#scores = #ragged.layout<"dr">

func.func @attention_pooling(%words: tensor<?x64xf32>, %offsets: tensor<?xi64>, %query: tensor<64xf32>)
    -> (tensor<?x64xf32>, tensor<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %x = ragged.partition %words, %offsets {dim = 0}
      : (tensor<?x64xf32>, tensor<?xi64>) -> tensor<?x?x64xf32, #docs>

  // A scalar per word: `from` takes the documents and their lengths from %x and drops the features.
  %empty = ragged.empty %x {from = [[0, 0], [0, 1]]} : (tensor<?x?x64xf32, #docs>) -> tensor<?x?xf32, #scores>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32, #scores>) -> tensor<?x?xf32, #scores>
  %score = linalg.contract
      indexing_maps = [affine_map<(d, w, f) -> (d, w, f)>, affine_map<(d, w, f) -> (f)>, affine_map<(d, w, f) -> (d, w)>]
      ins(%x, %query : tensor<?x?x64xf32, #docs>, tensor<64xf32>)
      outs(%zeros : tensor<?x?xf32, #scores>) -> tensor<?x?xf32, #scores>

  %weight = linalg.softmax dimension(1)
      ins(%score : tensor<?x?xf32, #scores>) outs(%empty : tensor<?x?xf32, #scores>) -> tensor<?x?xf32, #scores>

  %docs = tensor.dim %x, %c0 : tensor<?x?x64xf32, #docs>
  %room = tensor.empty(%docs) : tensor<?x64xf32>
  %none = linalg.fill ins(%zero : f32) outs(%room : tensor<?x64xf32>) -> tensor<?x64xf32>
  %pooled = linalg.contract
      indexing_maps = [affine_map<(d, w, f) -> (d, w, f)>, affine_map<(d, w, f) -> (d, w)>, affine_map<(d, w, f) -> (d, f)>]
      ins(%x, %weight : tensor<?x?x64xf32, #docs>, tensor<?x?xf32, #scores>)
      outs(%none : tensor<?x64xf32>) -> tensor<?x64xf32>

  %weights = ragged.merge %weight {dim = 0} : (tensor<?x?xf32, #scores>) -> tensor<?xf32>
  return %pooled, %weights : tensor<?x64xf32>, tensor<?xf32>
}
