"""`unshare-ragged-empties`: every destination is a tensor of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect._mlir import ir
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.passes.base import RaggedPass


@dataclass(frozen=True)
class UnshareRaggedEmpties(RaggedPass):
    """Give every use of a `tensor.empty` its own.

    ```mlir
    %e = tensor.empty(%n) : tensor<?xf32>
    %0:2 = scf.forall … shared_outs(%a = %e, %b = %e)
    // becomes
    %e = tensor.empty(%n) : tensor<?xf32>
    %e2 = tensor.empty(%n) : tensor<?xf32>
    %0:2 = scf.forall … shared_outs(%a = %e, %b = %e2)
    ```

    Common subexpression elimination makes equal ones the same, and bufferization would let two outs
    of one loop share a buffer, because neither's contents are defined.
    """

    name: ClassVar[str] = "unshare-ragged-empties"

    def run(self, op: ir.Operation) -> None:
        """Copy every `tensor.empty` of a module with several uses."""
        for empty in find_ops(op, "tensor.empty"):
            uses = [(use.owner, use.operand_number) for use in empty.results[0].uses]
            for user, number in uses[1:]:
                with ir.InsertionPoint(empty):
                    copy = empty.clone().operation
                user.operation.operands[number] = copy.results[0]
