"""Ops that take the place of another one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ragged_dialect._mlir import ir
from ragged_dialect.iteration import MAPPING
from ragged_dialect.types import is_tensor


@contextmanager
def standing_for(op: ir.Operation) -> Generator[None]:
    """Make ops right before one that they take the place of: those that compute with tensors have its mapping."""
    block, mapping = op.block, {MAPPING: op.attributes[MAPPING]} if MAPPING in op.attributes else {}
    before = [other.operation for other in block.operations] if mapping else []
    with ir.InsertionPoint(op), op.location:
        yield
    for name, mark in mapping.items():
        for made in block.operations:
            new = made.operation.name == "linalg.generic" and made.operation not in before
            if new and is_tensor(made.operands[0].type):
                made.attributes[name] = mark
