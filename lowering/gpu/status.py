"""The status record of a program on the device: kept by the first check that fails, read by every
kernel before it does anything."""

from __future__ import annotations

from typing import Any

from ragged_dialect._mlir import arith, ir, memref, scf
from ragged_dialect.lowering import emit

_EQ = 0
_SGT = 4


def keep_report(status: Any, record: list[Any]) -> None:
    """Store a record of five i64 when its number is above 0 and none was kept before."""
    zero = emit.constant(emit.i64(), 0)
    failed = arith.cmpi(_SGT, record[0], zero)
    free = arith.cmpi(_EQ, memref.load(status, [emit.value(0)]), zero)
    guard = scf.IfOp(arith.andi(failed, free))
    with ir.InsertionPoint(guard.then_block):
        for k, entry in reversed(list(enumerate(record))):
            memref.store(entry, status, [emit.value(k)])
        scf.yield_([])
