// Attention over a batch whose queries and keys have lengths of their own: the scores are ragged in
// both. Level 2 of the scores has the keys' lengths, whatever the query.
#l = #ragged.layout<"dr|d">
#s = #ragged.layout<"drr">
#qd = affine_map<(b, i, j, d) -> (b, i, d)>
#kd = affine_map<(b, i, j, d) -> (b, j, d)>
#qk = affine_map<(b, i, j, d) -> (b, i, j)>
func.func @attention(%q: tensor<?x?x8xf32, #l>, %k: tensor<?x?x8xf32, #l>, %v: tensor<?x?x8xf32, #l>)
    -> tensor<?x?x8xf32, #l> {
  %zero = arith.constant 0.0 : f32
  %e = ragged.empty %q, %k {from = [[0, 0], [0, 1], [1, 1]]}
       : (tensor<?x?x8xf32, #l>, tensor<?x?x8xf32, #l>) -> tensor<?x?x?xf32, #s>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x?xf32, #s>) -> tensor<?x?x?xf32, #s>
  %scores = linalg.generic {indexing_maps = [#qd, #kd, #qk],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<?x?x8xf32, #l>, tensor<?x?x8xf32, #l>) outs(%f : tensor<?x?x?xf32, #s>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %r = arith.addf %acc, %m : f32
    linalg.yield %r : f32
  } -> tensor<?x?x?xf32, #s>
  %p = linalg.softmax dimension(2) ins(%scores : tensor<?x?x?xf32, #s>)
       outs(%e : tensor<?x?x?xf32, #s>) -> tensor<?x?x?xf32, #s>
  %o = ragged.empty %q : (tensor<?x?x8xf32, #l>) -> tensor<?x?x8xf32, #l>
  %fo = linalg.fill ins(%zero : f32) outs(%o : tensor<?x?x8xf32, #l>) -> tensor<?x?x8xf32, #l>
  %out = linalg.generic {indexing_maps = [#qk, #kd, #qd],
      iterator_types = ["parallel", "parallel", "reduction", "parallel"]}
      ins(%p, %v : tensor<?x?x?xf32, #s>, tensor<?x?x8xf32, #l>) outs(%fo : tensor<?x?x8xf32, #l>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %r = arith.addf %acc, %m : f32
    linalg.yield %r : f32
  } -> tensor<?x?x8xf32, #l>
  return %out : tensor<?x?x8xf32, #l>
}
