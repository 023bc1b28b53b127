// RUN: ragged-opt %s --expand-ragged-floats=half=hard --verify-diagnostics

// There are three kinds of halves.
// expected-error @below {{expected half to be one of auto, native, soft, got hard}}
module {
}
