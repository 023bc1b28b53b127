// RUN: ragged-opt %s --verify-diagnostics --split-long-folds=long=-1

// expected-error@unknown {{expected long of at least 0 and a tile of at least 1, got -1 and 2048}}
func.func @f() {
  return
}
