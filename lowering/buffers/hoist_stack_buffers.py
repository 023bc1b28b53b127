"""`hoist-stack-buffers`: stack buffers of loop bodies are taken once per function."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir.functions import defined_functions
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.passes.base import RaggedPass


class HoistStackBuffers(RaggedPass):
    """Move `memref.alloca` of static size from loops to the start of their function.

    ```mlir
    scf.for %b = %lo to %hi step %c1 { %a = memref.alloca() : memref<64xf32> … }
    // becomes
    %a = memref.alloca() : memref<64xf32>
    scf.for %b = %lo to %hi step %c1 { … }
    ```

    In a loop it would take new stack in every iteration, all of which is kept until the function
    returns. Precondition: parallel loops are outlined, so that threads do not share the buffer; a
    body writes what it reads, so that iterations may.
    """

    def run(self, op: ir.Operation) -> None:
        """Hoist in every function of a module."""
        for function in defined_functions(op).values():
            _hoist(function)


def _hoist(function: ir.Operation) -> None:
    entry = function.regions[0].blocks[0]
    first = next(iter(entry.operations))
    for op in find_ops(function, "memref.alloca"):
        if not list(op.operands) and op.parent != function:
            op.move_before(first)
