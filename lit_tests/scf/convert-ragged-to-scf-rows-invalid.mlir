// RUN: ragged-opt %s --convert-ragged-to-scf=rows=-1 --verify-diagnostics

// expected-error@unknown {{expected rows of at least 0, got -1}}
func.func @f() {
  return
}
