// RUN: ragged-opt %s --verify-diagnostics --split-long-scans=tile=0

// expected-error@unknown {{expected long of at least 0 and a tile of at least 1, got 16384 and 0}}
func.func @f() {
  return
}
