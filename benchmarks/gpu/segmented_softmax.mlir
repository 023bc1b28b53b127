// Schedule segment: softmax of every feature over the rows of its component.
#l = #ragged.layout<"dr|d">
!ragged = tensor<?x?x64xf32, #l>

func.func @segmented_softmax(%values: tensor<?x64xf32>, %offsets: tensor<?xi64>) -> tensor<?x64xf32> {
  %x = ragged.partition %values, %offsets {dim = 0} : (tensor<?x64xf32>, tensor<?xi64>) -> !ragged
  %room = ragged.empty %x : (!ragged) -> !ragged
  %y = linalg.softmax dimension(1) ins(%x : !ragged) outs(%room : !ragged) -> !ragged
  %result = ragged.merge %y {dim = 0} : (!ragged) -> tensor<?x64xf32>
  return %result : tensor<?x64xf32>
}
