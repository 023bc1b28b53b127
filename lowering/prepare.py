"""Rewrites on ragged IR right before the lowering: what has no loop nest of its own becomes ops
that have one."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir.walk import ops_in
from ragged_dialect.lowering.decompose import decompose_softmax
from ragged_dialect.lowering.widen import needs_widening, widen_reduction


def prepare(module: ir.Operation, recompute: bool = False) -> None:
    """Decompose softmax (`recompute` as for `decompose_softmax`), widen the accumulators of short floats."""
    found = [op for op in ops_in(module) if op.name == "linalg.softmax" or needs_widening(op)]
    for op in found:
        with ir.InsertionPoint(op), op.location:
            if op.name == "linalg.softmax":
                decompose_softmax(op, recompute)
            else:
                widen_reduction(op)
