// Schedule contract: attention of f16 on tensor cores, four heads of 16, of each component with itself.
!ragged = tensor<?x?x4x16xf16, #ragged.layout<"dr|d|d">>
!sums = tensor<?x?x4xf32, #ragged.layout<"dr|d">>

func.func @short_attention(%values: tensor<?x4x16xf16>, %offsets: tensor<?xi64>) -> tensor<?x4x16xf16> {
  %x = ragged.partition %values, %offsets {dim = 0} : (tensor<?x4x16xf16>, tensor<?xi64>) -> !ragged
  %o, %lse = ragged.attention %x, %x, %x {scale = 0.25} : (!ragged, !ragged, !ragged) -> (!ragged, !sums)
  %result = ragged.merge %o {dim = 0} : (!ragged) -> tensor<?x4x16xf16>
  return %result : tensor<?x4x16xf16>
}
