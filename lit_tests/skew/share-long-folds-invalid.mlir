// RUN: ragged-opt %s --verify-diagnostics --share-long-folds="entries=0"

// There would be as many parts as entries.
// expected-error@below {{expected entries of at least 1, got 0}}
module {}
