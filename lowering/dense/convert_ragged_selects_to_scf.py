"""`convert-ragged-selects-to-scf`: a choice between whole tensors is no elementwise op."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir import flow
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.types import is_tensor


class ConvertRaggedSelectsToScf(RaggedPass):
    """Turn `arith.select` of tensors by a scalar condition into `scf.if`.

    ```mlir
    %0 = arith.select %c, %a, %b : tensor<?xf32>
    // becomes
    %0 = scf.if %c -> (tensor<?xf32>) { scf.yield %a } else { scf.yield %b }
    ```

    `convert-elementwise-to-linalg`, which follows, would make it a loop over the extent of %a; the
    two may differ in size.
    """

    def run(self, op: ir.Operation) -> None:
        """Convert every such select of a module."""
        for select in find_ops(op, "arith.select"):
            condition, a, b = select.operands
            if is_tensor(a.type) and not is_tensor(condition.type):
                with ir.InsertionPoint(select), select.location:
                    (made,) = flow.choose(condition, lambda a=a: [a], lambda b=b: [b], [a.type])
                    replace(select, made)
