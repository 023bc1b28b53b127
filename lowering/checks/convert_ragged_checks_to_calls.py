"""`convert-ragged-checks-to-calls`: asserts become reports, which nothing that follows runs after where they fail."""

from __future__ import annotations

from typing import TypeAlias

from ragged_dialect import builders
from ragged_dialect._mlir import arith, func, ir
from ragged_dialect.ir import build
from ragged_dialect.ir.functions import calls, functions_of, with_callers
from ragged_dialect.ir.match import ancestors, blocks_of
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.lowering.checks.conditions import evaluate
from ragged_dialect.lowering.validity import require_dense, require_own_names
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.runtime.status import STATUS_ENTRIES
from ragged_dialect.traits import optional_int

REPORT = "ragged_report"
"""Private function that takes a status record. Where its number is above 0, the CPU leaves the running call there
(`runtime/memory_runtime.py`); a GPU keeps the first such record, and kernels that find one do nothing."""

_AROUND = ("func.call", "scf.if", "scf.for", "scf.while")
"""The ops in whose regions, or in whose callees, a check may be: iterations of others may run on several threads."""

_Statement: TypeAlias = "tuple[ir.Value | int | str | None, ...]"


class ConvertRaggedChecksToCalls(RaggedPass):
    """Lower asserts to calls of `@ragged_report`, which ends the run of a program where a check fails.

    ```mlir
    ragged.assert_valid %offsets, %n {kind = "offsets", op = "ragged.partition", level = 1} …
    // becomes
    %code, %component, %a, %b = … scan of %offsets …
    call @ragged_report(%number, %code, %component, %a, %b) : (i64, i64, i64, i64, i64) -> ()
    ```

    `%number` counts checks from 1 and is 0 when the check holds; the module's `ragged.checks` lists
    their kinds, ops and levels. A check that was made before in the same block, or around it, is dropped,
    and so are guards: from here on no pass may move loads over the calls. A `cf.assert` is a check as well.
    Precondition: `convert-ragged-to-scf`; what is still ragged is an error.
    """

    def run(self, op: ir.Operation) -> None:
        """Lower the asserts of every function of a module."""
        require_own_names(op)
        _settle(op)
        checks: list[ir.ArrayAttr] = []
        for function in functions_of(op).values():
            for block in function.regions[0].blocks:
                _lower_block(block, checks, frozenset())
        if checks:
            op.attributes["ragged.checks"] = ir.ArrayAttr.get(checks)
            with ir.InsertionPoint.at_block_begin(op.regions[0].blocks[0]):
                func.FuncOp(REPORT, ([build.i64()] * STATUS_ENTRIES, []), visibility="private")
        require_dense(op)


def _settle(module: ir.Operation) -> None:
    """Drop guards, and make checks of `cf.assert`, which would end the process. In the body of a linalg op one is
    dropped: `ragged-insert-checks` has put a check in front of it."""
    for op in find_ops(module, "cf.assert", "ragged.guard"):
        if op.name == "ragged.guard":
            replace(op, op.operands[0])
            continue
        if not any(outer.name.startswith("linalg.") for outer in ancestors(op)):
            with ir.InsertionPoint(op), op.location:
                condition = arith.index_castui(build.index_type(), op.operands[0])
                builders.assert_valid([condition], "holds", f"cf.assert: {op.attributes['msg'].value}", 0)
        op.erase()
    own = {name for name, function in functions_of(module).items() if find_ops(function, "ragged.assert_valid")}
    checked = with_callers(module, own)
    for op in find_ops(module, "ragged.assert_valid", "func.call", "func.call_indirect"):
        if op.name != "ragged.assert_valid" and not (own and calls(op, checked)):
            continue
        for outer in ancestors(op):
            if outer.name not in _AROUND:
                raise PassFailure(outer, f"expected checks in {', '.join(_AROUND)} only, got one in '{outer.name}'")


def _lower_block(block: ir.Block, checks: list[ir.ArrayAttr], held: frozenset[_Statement]) -> None:
    for op in list(block.operations):
        op = op.operation
        if op.name == "ragged.assert_valid":
            if _statement(op) not in held:
                held = held | {_statement(op)}
                checks.append(ir.ArrayAttr.get([op.attributes[name] for name in ("kind", "op", "level")]))
                with ir.InsertionPoint(op), op.location:
                    func.call([], REPORT, _record_of(op, len(checks)))
            op.erase()
            continue
        for inner in blocks_of(op):
            _lower_block(inner, checks, held)


def _statement(op: ir.Operation) -> _Statement:
    """What an assert says: asserts with equal statements hold or fail together."""
    return op.attributes["kind"].value, optional_int(op, "factor"), *op.operands


def _record_of(op: ir.Operation, number: int) -> list[ir.Value]:
    """The status record (`runtime/status.py`) that an assert, the check of a number, leaves, as i64."""
    record = evaluate(op.attributes["kind"].value, list(op.operands), optional_int(op, "factor"))
    failed = build.at_least(record[0], 0)
    given = arith.select(failed, build.constant(build.i64(), number), build.constant(build.i64(), 0))
    return [given, *(build.to_i64(x) for x in record)]
