// RUN: ragged-opt %s --ragged-fuse=rows=-1 --verify-diagnostics

// expected-error@unknown {{expected rows of at least 0, got -1}}
func.func @f() {
  return
}
