// RUN: ragged-opt %s --ragged-insert-checks --split-input-file --verify-diagnostics

// Control flow between blocks is lowered later; checks have no single entry here.
// expected-error@+1 {{expected a function of 1 block, got 2}}
func.func @blocks(%v: tensor<?xf32>, %o: tensor<?xi64>) {
  cf.br ^next
^next:
  %x = ragged.partition %v, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return
}
