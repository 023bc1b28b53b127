// RUN: ragged-opt %s --verify-diagnostics --share-long-components="elements=0"

// Every component would be long.
// expected-error@below {{expected elements of at least 1, got 0}}
module {}
