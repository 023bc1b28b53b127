// RUN: ragged-opt %s --verify-diagnostics --ragged-map-parallel=schedule=fast

// expected-error@unknown {{expected a schedule among auto, general, balanced, segment, contract, got 'fast'}}
func.func @f() {
  return
}
