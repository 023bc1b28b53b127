"""Tensors that a body makes of none of its values: rules see what a body takes of tensors around it."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir.walk import is_outside, ops_in
from ragged_dialect.iteration import LINALG_OPS
from ragged_dialect.types import is_tensor


def move_out(function: ir.Operation) -> None:
    """Put the ops in bodies that make tensors, of what is outside alone, in front: `ragged.values` of a table."""
    for op in [x for x in ops_in(function) if x.name in LINALG_OPS and len(x.regions)]:
        for inner in [x.operation for x in op.regions[0].blocks[0].operations]:
            makes = any(is_tensor(result.type) for result in inner.results)
            if makes and not len(inner.regions) and all(is_outside(x, op) for x in inner.operands):
                inner.move_before(op)
