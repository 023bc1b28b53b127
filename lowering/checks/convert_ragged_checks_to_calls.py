"""`convert-ragged-checks-to-calls`: asserts become reports, and nothing waits for them."""

from __future__ import annotations

from ragged_dialect._mlir import func, ir
from ragged_dialect.ir import build
from ragged_dialect.ir.functions import functions_of
from ragged_dialect.ir.match import blocks_of
from ragged_dialect.lowering.checks.asserts import Statement, description, record_of, settle, statement
from ragged_dialect.lowering.validity import require_dense
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.runtime.status import STATUS_ENTRIES

REPORT = "ragged_report"
"""Private function that takes a status record and keeps it when its number is above 0 and no record was kept before."""


class ConvertRaggedChecksToCalls(RaggedPass):
    """Lower asserts to calls of `@ragged_report`, for targets where a failure stops what follows by itself.

    ```mlir
    ragged.assert_valid %offsets, %n {kind = "offsets", op = "ragged.partition", level = 1} …
    // becomes
    %code, %component, %a, %b = … scan of %offsets …
    call @ragged_report(%number, %code, %component, %a, %b) : (i64, i64, i64, i64, i64) -> ()
    ```

    `%number` counts checks from 1 and is 0 when the check holds; the module's `ragged.checks` lists
    their kinds, ops and levels. A check that was made before in the same block, or around it, goes,
    and so do guards: from here on no pass may move loads over the calls. A `cf.assert` is a check as well.
    Precondition: `convert-ragged-to-scf`; what is still ragged is an error.
    """

    def run(self, op: ir.Operation) -> None:
        """Lower the asserts of every function of a module."""
        settle(op)
        checks: list[ir.ArrayAttr] = []
        for function in functions_of(op).values():
            for block in function.regions[0].blocks:
                _lower_block(block, checks, frozenset())
        if checks:
            op.attributes["ragged.checks"] = ir.ArrayAttr.get(checks)
            with ir.InsertionPoint.at_block_begin(op.regions[0].blocks[0]):
                func.FuncOp(REPORT, ([build.i64()] * STATUS_ENTRIES, []), visibility="private")
        require_dense(op)


def _lower_block(block: ir.Block, checks: list[ir.ArrayAttr], held: frozenset[Statement]) -> None:
    for op in list(block.operations):
        op = op.operation
        if op.name == "ragged.assert_valid":
            if statement(op) not in held:
                held = held | {statement(op)}
                with ir.InsertionPoint(op), op.location:
                    _report(op, checks)
            op.erase()
            continue
        for inner in blocks_of(op):
            _lower_block(inner, checks, held)


def _report(op: ir.Operation, checks: list[ir.ArrayAttr]) -> None:
    checks.append(description(op))
    func.call([], REPORT, record_of(op, len(checks)))
