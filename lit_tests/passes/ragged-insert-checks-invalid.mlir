// RUN: ragged-opt %s --ragged-insert-checks --split-input-file --verify-diagnostics

// Control flow between blocks is lowered later; checks have no single entry here.
// expected-error@+1 {{expected a function of 1 block, got 2}}
func.func @blocks(%v: tensor<?xf32>, %o: tensor<?xi64>) {
  cf.br ^next
^next:
  %x = ragged.partition %v, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// The sum is ragged once the layout is inferred; before, nothing says that it needs a check.
func.func @annotated(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{expected layouts to be inferred, got ragged.annotate (run ragged-infer-layouts first)}}
  %a = ragged.annotate %x : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32>
  %s = arith.addf %a, %a : tensor<3x?xf32>
  return
}

// -----

// All indices are checked before any score is there.
!q = tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>
!lse = tensor<3x?x4xf32, #ragged.layout<"dr|d">>
func.func @of_scores(%table: tensor<?xf32>, %q: !q) {
  // expected-error@+1 {{expected indices that no score is made of, got one of scores}}
  %o, %lse = ragged.attention %q, %q, %q ({
  ^bb0(%score: f32, %component: index, %head: index, %query: index, %key: index):
    %whole = arith.fptosi %score : f32 to i64
    %place = arith.index_cast %whole : i64 to index
    %more = tensor.extract %table[%place] : tensor<?xf32>
    ragged.yield %more : (f32) -> ()
  }) {scale = 2.500000e-01} : (!q, !q, !q) -> (!q, !lse)
  return
}
