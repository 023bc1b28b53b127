"""`expand-compressed-stores`: elements that are stored side by side are put there in a register."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir, vector
from ragged_dialect.ir import build
from ragged_dialect.ir.match import bit_width
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.vector.lanes import first_lanes, lanes_type, number_of
from ragged_dialect.passes.base import RaggedPass


class ExpandCompressedStores(RaggedPass):
    """Put the lanes that a `vector.compressstore` writes side by side in a register, and store so many of it.

    ```mlir
    vector.compressstore %buffer[%i], %mask, %lanes : memref<?xi64>, vector<8xi1>, vector<8xi64>
    // becomes, where %n lanes of %mask are true
    %packed = llvm.call_intrinsic "llvm.experimental.vector.compress"(%lanes, %mask, %poison)
    %first = vector.create_mask %n : vector<8xi1>
    vector.maskedstore %buffer[%i], %first, %packed : memref<?xi64>, vector<8xi1>, vector<8xi64>
    ```

    To memory the instruction is microcode on AMD's processors: places of a mask's elements take seven times as long so
    (Zen 5).
    """

    def run(self, op: ir.Operation) -> None:
        """Rewrite the stores of a module."""
        for store in find_ops(op, "vector.compressstore"):
            buffer, *at, mask, lanes = store.operands
            with ir.InsertionPoint(store), store.location:
                first = first_lanes(number_of(mask), mask.type.shape[0])
                vector.maskedstore(buffer, at, first, _side_by_side(lanes, mask))
            store.erase()


def _side_by_side(lanes: ir.Value, mask: ir.Value) -> ir.Value:
    """The lanes of a mask, and anything behind them."""
    type_ = lanes.type
    if isinstance(type_.element_type, ir.IndexType):
        numbers = arith.index_cast(lanes_type(type_.shape[0], build.i64()), lanes)
        return arith.index_cast(type_, _side_by_side(numbers, mask))
    width = bit_width(type_.element_type)
    if width < 32:  # which not all processors with masks put side by side
        bits = lanes_type(type_.shape[0], ir.IntegerType.get_signless(width))
        wide = lanes_type(type_.shape[0], ir.IntegerType.get_signless(32))
        packed = _side_by_side(arith.extui(wide, lanes if type_ == bits else arith.bitcast(bits, lanes)), mask)
        narrow = arith.trunci(bits, packed)
        return narrow if type_ == bits else arith.bitcast(type_, narrow)
    anything = ir.Operation.create("ub.poison", results=[type_]).result
    return build.intrinsic("llvm.experimental.vector.compress", lanes, mask, anything)
