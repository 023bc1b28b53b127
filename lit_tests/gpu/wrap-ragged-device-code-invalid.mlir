// RUN: ragged-opt %s --verify-diagnostics --wrap-ragged-device-code

// Host programs are straight lines with structured control flow.
// expected-error@below {{expected a function of one block, got several}}
func.func @f(%c: i1) {
  cf.cond_br %c, ^a, ^b
^a:
  return
^b:
  return
}
