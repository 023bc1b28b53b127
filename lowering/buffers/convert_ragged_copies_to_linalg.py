"""`convert-ragged-copies-to-linalg`: buffer copies as linalg, which needs no runtime library."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir import shapes
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.passes.base import RaggedPass


class ConvertRaggedCopiesToLinalg(RaggedPass):
    """Turn `memref.copy` into `linalg.copy`; copies of a buffer onto itself are removed.

    ```mlir
    memref.copy %a, %b : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    // becomes
    linalg.copy ins(%a : …) outs(%b : …)
    ```

    MLIR lowers strided copies to a call of its C runtime, which the package does not ship. Copies of buffers without a
    rank are left to it.
    """

    def run(self, op: ir.Operation) -> None:
        """Convert every copy of a module."""
        for copy in find_ops(op, "memref.copy"):
            source, target = copy.operands
            if not (isinstance(source.type, ir.MemRefType) and isinstance(target.type, ir.MemRefType)):
                continue  # of no rank
            if source != target:
                with ir.InsertionPoint(copy), copy.location:
                    shapes.copy(source, target)
            copy.erase()
