// RUN: ragged-opt %s --verify-diagnostics --share-long-reductions="elements=0"

// There would be as many parts as elements.
// expected-error@below {{expected elements of at least 1, got 0}}
module {}
