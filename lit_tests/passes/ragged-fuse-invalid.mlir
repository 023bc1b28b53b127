// RUN: ragged-opt %s --ragged-fuse=max-ops=0 --verify-diagnostics

// A body holds at least one op.
// expected-error@unknown {{expected max-ops of at least 1, got 0}}
func.func @f() {
  return
}
