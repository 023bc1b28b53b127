// RUN: not ragged-opt %s --ragged-distribute=ranks=0 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not ragged-opt %s --ragged-distribute="ranks=2 rank=2" 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not ragged-opt %s --ragged-distribute="ranks=2 owned=5,3,1" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not ragged-opt %s --ragged-distribute="ranks=2 owned=5,-3" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not ragged-opt %s --ragged-distribute="ranks=2 owned=2,0" 2>&1 | FileCheck %s --check-prefix=SUM

// RANKS: error: ragged-distribute: expected ranks above 0, got 0
// RANK: error: ragged-distribute: expected a rank in [0, 2), got 2
// COUNT: error: ragged-distribute: expected how many each of 2 ranks owns, got '5,3,1'
// NUMBER: error: ragged-distribute: expected how many each of 2 ranks owns, got '5,-3'
// SUM: error: ragged-distribute: expected owned with another sum than 2, the extent of a dim of ranks, got 2,0
func.func @f() {
  return
}
