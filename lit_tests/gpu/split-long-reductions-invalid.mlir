// RUN: ragged-opt %s --verify-diagnostics --split-long-reductions=tile=0

// expected-error@unknown {{expected a tile of at least 1 element, got 0}}
func.func @f() {
  return
}
