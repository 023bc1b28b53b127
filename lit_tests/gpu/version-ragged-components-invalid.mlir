// RUN: ragged-opt %s --verify-diagnostics --version-ragged-components=long=0

// expected-error@unknown {{expected long of at least 1 byte, got 0}}
func.func @f() {
  return
}
