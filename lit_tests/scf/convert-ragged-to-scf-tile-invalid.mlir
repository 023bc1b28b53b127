// RUN: ragged-opt %s --convert-ragged-to-scf=tile=-1 --verify-diagnostics

// expected-error@unknown {{expected a tile of at least 0, got -1}}
func.func @f() {
  return
}
