// Schedule row: every row minus its mean, over its standard deviation.
#l = #ragged.layout<"dr|d">
#all = affine_map<(b, i, d) -> (b, i, d)>
#row = affine_map<(b, i, d) -> (b, i)>
!ragged = tensor<?x?x64xf32, #l>
!rows = tensor<?x?xf32, #ragged.layout<"dr">>

func.func @layer_norm(%values: tensor<?x64xf32>, %offsets: tensor<?xi64>) -> tensor<?x64xf32> {
  %zero = arith.constant 0.0 : f32
  %x = ragged.partition %values, %offsets {dim = 0} : (tensor<?x64xf32>, tensor<?xi64>) -> !ragged
  %row = ragged.empty %x {from = [[0, 0], [0, 1]]} : (!ragged) -> !rows
  %zeros = linalg.fill ins(%zero : f32) outs(%row : !rows) -> !rows
  %sums:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : !ragged) outs(%zeros, %zeros : !rows, !rows) {
  ^bb0(%a: f32, %sum: f32, %squares: f32):
    %s = arith.addf %sum, %a : f32
    %m = arith.mulf %a, %a : f32
    %q = arith.addf %squares, %m : f32
    linalg.yield %s, %q : f32, f32
  } -> (!rows, !rows)
  %room = ragged.empty %x : (!ragged) -> !ragged
  %y = linalg.generic {indexing_maps = [#all, #row, #row, #all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %sums#0, %sums#1 : !ragged, !rows, !rows) outs(%room : !ragged) {
  ^bb0(%a: f32, %sum: f32, %squares: f32, %b: f32):
    %width = arith.constant 64.0 : f32
    %epsilon = arith.constant 1.0e-5 : f32
    %mean = arith.divf %sum, %width : f32
    %second = arith.divf %squares, %width : f32
    %square = arith.mulf %mean, %mean : f32
    %variance = arith.subf %second, %square : f32
    %kept = arith.addf %variance, %epsilon : f32
    %inverse = math.rsqrt %kept : f32
    %centred = arith.subf %a, %mean : f32
    %r = arith.mulf %centred, %inverse : f32
    linalg.yield %r : f32
  } -> !ragged
  %result = ragged.merge %y {dim = 0} : (!ragged) -> tensor<?x64xf32>
  return %result : tensor<?x64xf32>
}
