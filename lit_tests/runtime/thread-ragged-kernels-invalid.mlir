// RUN: ragged-opt %s --split-input-file --verify-diagnostics --thread-ragged-kernels

// The third argument is the work of an iteration.
// expected-error@+1 {{expected ragged.kernel on a function with a body of type (i64, i64, i64, …), got !llvm.func<void (i64, i64, ptr)>}}
llvm.func @work(%lo: i64, %hi: i64, %p: !llvm.ptr) attributes {ragged.kernel} {
  llvm.return
}

// -----

// A declaration has nothing to run.
// expected-error@+1 {{expected ragged.kernel on a function with a body of type (i64, i64, i64, …), got !llvm.func<void (i64, i64, i64)>}}
llvm.func @declared(i64, i64, i64) attributes {ragged.kernel}

// -----

// Nobody would see a result.
// expected-error@+1 {{expected ragged.kernel on a function with a body of type (i64, i64, i64, …), got !llvm.func<i64 (i64, i64, i64)>}}
llvm.func @result(%lo: i64, %hi: i64, %work: i64) -> i64 attributes {ragged.kernel} {
  llvm.return %lo : i64
}

// -----

// Captures have types.
// expected-error@+1 {{expected ragged.kernel on a function with a body of type (i64, i64, i64, …), got !llvm.func<void (i64, i64, i64, ...)>}}
llvm.func @variadic(%lo: i64, %hi: i64, %work: i64, ...) attributes {ragged.kernel} {
  llvm.return
}
