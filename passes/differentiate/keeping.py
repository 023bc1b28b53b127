"""What a function keeps of its values for its gradient, which then need not compute them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragged_dialect._mlir import ext, ir
from ragged_dialect.ir.match import defining_op
from ragged_dialect.iteration import LINALG_OPS, analyze
from ragged_dialect.passes.differentiate.flow import reads, recorded
from ragged_dialect.passes.differentiate.tables import CONSTANT, has_derivative
from ragged_dialect.passes.differentiate.views import reassembled
from ragged_dialect.types import is_tensor, shape_of


class Place(NamedTuple):
    """The number of an op among those of a function, and of its result: the same wherever the function is."""

    op: int
    result: int

    def of(self, ops: Sequence[ir.Operation]) -> ir.Value:
        """The value that is here."""
        return ops[self.op].results[self.result]


def worth_keeping(ops: Sequence[ir.Operation], gradients: Sequence[ir.Value]) -> list[Place]:
    """The results of reductions among the ops of a function, in order, whose elements its gradients are computed of.
    All else that these need of the function is computed of such results and of arguments by loops without reductions:
    to compute it again takes little more than to read what was kept, and it is as large as what it is computed of."""
    place = {op: number for number, op in enumerate(ops)}
    found: set[Place] = set()
    seen: set[ir.Value] = set()
    left = list(gradients)
    while left:
        value = left.pop()
        op = defining_op(value)
        if op is None or value in seen:
            continue
        seen.add(value)
        if op in place and _reduces(op) and _is_kept(value):
            found.add(Place(place[op], next(k for k, r in enumerate(op.results) if r == value)))
        elif op.name not in CONSTANT:  # which give of a value how it is nested, but none of its elements
            left += reads(op)
    return sorted(found)


def _reduces(op: ir.Operation) -> bool:
    if isinstance(op.opview, ext.Operation):
        return getattr(op.opview, "reduces", False)
    return op.name == "linalg.softmax" or (op.name in LINALG_OPS and "reduction" in analyze(op).kinds)


def _is_kept(value: ir.Value) -> bool:
    """Whether a value is a tensor of floats, without windows. What is no float counts, and is a length in the end."""
    return has_derivative(value) and is_tensor(value.type) and not shape_of(value.type).layout.has_windows


def use_kept(value: ir.Value, storage: ir.Value) -> tuple[ir.Value, list[ir.Operation]]:
    """Put kept elements in place of those that a value of a function has; what stands for it, and the ops that were
    made. They have its structure, so that only its elements need not be computed."""
    op = defining_op(value)
    assert op is not None
    with ir.InsertionPoint.after(op), op.location:
        made, kept = recorded(op.block, lambda: reassembled(storage, value))
    value.replace_all_uses_except(kept, made)
    return kept, made
