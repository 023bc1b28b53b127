"""`unshare-ragged-empties`: every destination is a tensor of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import defining_op
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.passes.base import RaggedPass


@dataclass(frozen=True)
class UnshareRaggedEmpties(RaggedPass):
    """Give every use of a `tensor.empty`, or of one with an element inserted, its own.

    ```mlir
    %e = tensor.empty(%n) : tensor<?xf32>
    %0:2 = scf.forall … shared_outs(%a = %e, %b = %e)
    // becomes
    %e = tensor.empty(%n) : tensor<?xf32>
    %e2 = tensor.empty(%n) : tensor<?xf32>
    %0:2 = scf.forall … shared_outs(%a = %e, %b = %e2)
    ```

    Common subexpression elimination makes equal ones the same, and bufferization would let two outs
    of one loop share a buffer, because neither's contents are defined. Of one with an element inserted, as
    the 0 that offsets begin with, it would copy everything, which nobody has written.
    """

    name: ClassVar[str] = "unshare-ragged-empties"

    def run(self, op: ir.Operation) -> None:
        """Copy every destination of a module with several uses."""
        inserts = [insert for insert in find_ops(op, "tensor.insert") if _is_destination(insert)]
        for made in [*reversed(inserts), *find_ops(op, "tensor.empty")]:
            uses = [(use.owner, use.operand_number) for use in made.results[0].uses]
            for user, number in uses[1:]:
                with ir.InsertionPoint(made):
                    copy = made.clone().operation
                user.operation.operands[number] = copy.results[0]


def _is_destination(op: ir.Operation | None) -> bool:
    """Whether an op makes a tensor of which at most some elements, inserted one by one, are defined."""
    while op is not None and op.name == "tensor.insert":
        op = defining_op(op.operands[1])
    return op is not None and op.name == "tensor.empty"
