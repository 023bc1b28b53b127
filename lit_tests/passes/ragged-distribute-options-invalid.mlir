// RUN: not ragged-opt %s --ragged-distribute=ranks=0 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not ragged-opt %s --ragged-distribute="ranks=2 rank=2" 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not ragged-opt %s --ragged-distribute="ranks=2 owned=5,3,1" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not ragged-opt %s --ragged-distribute="ranks=2 owned=5,-3" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not ragged-opt %s --ragged-distribute="ranks=2 owned=2,0" 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: not ragged-opt %s --ragged-distribute="ranks=2 owned=٥,٣" 2>&1 | FileCheck %s --check-prefix=DIGITS
// RUN: not ragged-opt %s --ragged-distribute="ranks=2 owned=3,3" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not ragged-opt %s --ragged-distribute="ranks=1000000000" 2>&1 | FileCheck %s --check-prefix=MANY

// RANKS: error: ragged-distribute: expected ranks above 0, got 0
// RANK: error: ragged-distribute: expected a rank in [0, 2), got 2
// COUNT: error: ragged-distribute: expected how many each of 2 ranks owns, got '5,3,1'
// NUMBER: error: ragged-distribute: expected how many each of 2 ranks owns, got '5,-3'
// SUM: error: ragged-distribute: expected owned with another sum than 2, the extent of a dim of ranks, got 2,0
// DIGITS: error: ragged-distribute: expected how many each of 2 ranks owns, got '٥,٣'
// NONE: error: ragged-distribute: expected something sharded with a leading extent of 6, the sum of owned, got none
// MANY: error: ragged-distribute: expected a leading extent that 1000000000 ranks divide, got tensor<8x4xf32>
func.func @f(%x: tensor<8x4xf32> {ragged.sharded}) {
  return
}
