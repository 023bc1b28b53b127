"""`fold-matrix-copies`: what was written to a vector as a matrix is in the vector."""

from __future__ import annotations

from itertools import takewhile

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import made_by
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.buffers.subviews import is_address, is_same, root
from ragged_dialect.passes.base import RaggedPass


class FoldMatrixCopies(RaggedPass):
    """Drop the copy of a matrix that is taken for a vector again, where it is the view of one.

    ```mlir
    %matrix = memref.expand_shape %vector [[0, 1]] …
    memref.copy %matrix, %alloc
    %flat = memref.collapse_shape %alloc [[0, 1]] …
    memref.copy %flat, %target
    // becomes
    memref.copy %vector, %target
    ```

    One-shot-bufferize copies it, since the type of a view whose rows have a length that is not static does not say
    that they follow one another. Precondition: runs right after it.
    """

    def run(self, op: ir.Operation) -> None:
        """Drop the copies of a module."""
        for collapse in find_ops(op, "memref.collapse_shape"):
            alloc = made_by(collapse.operands[0], "memref.alloc")
            if alloc is not None:
                _fold(collapse, alloc)


def _fold(collapse: ir.Operation, alloc: ir.Operation) -> None:
    uses = [use.owner.operation for use in alloc.results[0].uses]
    copies = [use for use in uses if use.name == "memref.copy"]
    ends = [use.owner.operation for use in collapse.results[0].uses]
    if len(uses) != 2 or len(copies) != 1 or [end.name for end in ends] != ["memref.copy"]:
        return
    (copy,), (end,) = copies, ends
    expand = made_by(copy.operands[0], "memref.expand_shape")
    if expand is None or expand.attributes["reassociation"] != collapse.attributes["reassociation"]:
        return
    if end.operands[0] != collapse.results[0] or copy.block != end.block or not copy.is_before_in_block(end):
        return
    source, target = expand.operands[0], end.operands[1]
    if root(source) == root(target) and not is_same(source, target):  # which may overlap
        return
    if not all(is_address(between) or between == copy for between in _from(copy, end)):
        return
    end.operands[0] = source
    for unused in (collapse, copy, alloc):
        unused.erase()


def _from(first: ir.Operation, end: ir.Operation) -> list[ir.Operation]:
    """The ops of a block from one on, up to another one."""
    operations = [op.operation for op in first.block.operations]
    return list(takewhile(lambda op: op != end, operations[operations.index(first) :]))
