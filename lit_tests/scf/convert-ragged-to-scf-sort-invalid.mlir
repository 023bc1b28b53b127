// RUN: ragged-opt %s --verify-diagnostics --convert-ragged-to-scf="isa=mmx"

// An instruction set that is none.

// expected-error@+1 {{expected isa to be auto or one of}}
module {
}
