// RUN: ragged-opt %s --verify-diagnostics --fission-ragged-foralls=schedule=auto

// expected-error@unknown {{expected a schedule among general, balanced, segment, contract, got 'auto'}}
func.func @f() {
  return
}
