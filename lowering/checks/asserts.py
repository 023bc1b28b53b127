"""Reading `ragged.assert_valid` ops on dense vectors."""

from __future__ import annotations

from typing import TypeAlias

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build
from ragged_dialect.ir.match import ancestors
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.lowering.checks.conditions import evaluate
from ragged_dialect.lowering.validity import require_own_names
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.traits import optional_int

Statement: TypeAlias = "tuple[ir.Value | int | str | None, ...]"


AROUND = ("func.call", "scf.if", "scf.for", "scf.while")
"""The ops in whose regions, or in whose callees, a check may be."""


def require_around(op: ir.Operation) -> None:
    """PassFailure at an op around a check that no status, and no report, comes out of."""
    if op.name not in AROUND:
        raise PassFailure(op, f"expected checks in {', '.join(AROUND)} only, got one in '{op.name}'")


def settle(module: ir.Operation) -> None:
    """What both lowerings of the checks start with. A `cf.assert` becomes a check: on its own it would
    end the process. In the body of a linalg op it is dropped, `ragged-insert-checks` has put one in front
    of it. A `ragged.guard` is dropped: what is behind a check has to stay there from here on."""
    require_own_names(module)
    for op in find_ops(module, "cf.assert", "ragged.guard"):
        if op.name == "ragged.guard":
            replace(op, op.operands[0])
            continue
        if not any(outer.name.startswith("linalg.") for outer in ancestors(op)):
            with ir.InsertionPoint(op), op.location:
                condition = arith.index_castui(build.index_type(), op.operands[0])
                builders.assert_valid([condition], "holds", f"cf.assert: {op.attributes['msg'].value}", 0)
        op.erase()
    for op in find_ops(module, "ragged.assert_valid"):
        for outer in ancestors(op):
            require_around(outer)


def record_of(op: ir.Operation, number: int) -> list[ir.Value]:
    """The status record (`runtime/status.py`) that an assert, the check of a number, leaves, as i64."""
    record = evaluate(op.attributes["kind"].value, list(op.operands), optional_int(op, "factor"))
    failed = build.at_least(record[0], 0)
    given = arith.select(failed, build.constant(build.i64(), number), build.constant(build.i64(), 0))
    return [given, *(build.to_i64(x) for x in record)]


def statement(op: ir.Operation) -> Statement:
    """What an assert says: asserts with equal statements hold or fail together."""
    return op.attributes["kind"].value, optional_int(op, "factor"), *op.operands


def description(op: ir.Operation) -> ir.ArrayAttr:
    """Kind, op and level of an assert, as an entry of the module's `ragged.checks`."""
    return ir.ArrayAttr.get([op.attributes[name] for name in ("kind", "op", "level")])
