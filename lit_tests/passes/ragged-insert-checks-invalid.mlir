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
