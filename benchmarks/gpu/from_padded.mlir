// Rows of a padded batch, without the padding.
#l = #ragged.layout<"dr|d">
!ragged = tensor<?x?x64xf32, #l>

func.func @from_padded(%padded: tensor<?x?x64xf32>, %offsets: tensor<?xi64>) -> tensor<?x64xf32> {
  %x = ragged.from_padded %padded, %offsets : (tensor<?x?x64xf32>, tensor<?xi64>) -> !ragged
  %result = ragged.merge %x {dim = 0} : (!ragged) -> tensor<?x64xf32>
  return %result : tensor<?x64xf32>
}
