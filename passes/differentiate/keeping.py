"""What a function keeps of its values for its gradient, which then need not compute them again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ragged_dialect._mlir import ext, ir
from ragged_dialect.ir.match import bit_width, defining_op
from ragged_dialect.iteration import LINALG_OPS, analyze
from ragged_dialect.passes.differentiate.flow import reads, recorded
from ragged_dialect.passes.differentiate.tables import CONSTANT, has_derivative
from ragged_dialect.passes.differentiate.vertex_cut import vertex_cut
from ragged_dialect.passes.differentiate.views import reassembled
from ragged_dialect.types import is_tensor, shape_of

_UNKNOWN = 1 << 64
"""An extent that is not known, which counts as more than all known ones: a number for each component is less than its
rows."""


class Place(NamedTuple):
    """The number of an op among those of a function, and of its result: the same wherever the function is."""

    op: int
    result: int

    def of(self, ops: Sequence[ir.Operation]) -> ir.Value:
        """The value that is here."""
        return ops[self.op].results[self.result]


def worth_keeping(
    ops: Sequence[ir.Operation], results: Sequence[ir.Value], gradients: Sequence[ir.Value]
) -> list[Place]:
    """What to keep of the values of a function, which has ops, in order: the fewest bytes of which its gradients are
    computed without a reduction. Results cost nothing, and so do arguments, which are there. What is computed again is
    done by the loops that read what was kept."""
    place = {op: number for number, op in enumerate(ops)}
    costs: dict[ir.Value, int | None] = {}
    edges: list[tuple[ir.Value, ir.Value]] = []
    reductions: list[ir.Value] = []
    read: list[ir.Value] = []
    seen: set[ir.Value] = set()
    left: list[tuple[ir.Value, ir.Value | None]] = [(gradient, None) for gradient in gradients]
    while left:  # values that gradients, or values of the function, are computed of
        value, reader = left.pop()
        op = defining_op(value)
        if op is None:
            continue
        inside = op in place
        if inside and reader is None:
            read.append(value)
        elif inside and reader is not None:
            edges.append((value, reader))
        if value in seen:
            continue
        seen.add(value)
        if inside:
            cost = _bytes(value)
            costs[value] = cost and cost * (value not in results)
            if _reduces(op) and cost is not None:
                reductions.append(value)
        if op.name not in CONSTANT:  # which give of a value how it is nested, but none of its elements
            left += [(x, value if inside else None) for x in reads(op)]
    cut = vertex_cut(costs, edges, reductions, read)
    return sorted(Place(place[op], k) for op in place for k, result in enumerate(op.results) if result in cut)


def _reduces(op: ir.Operation) -> bool:
    if isinstance(op.opview, ext.Operation):
        return getattr(op.opview, "reduces", False)
    return op.name == "linalg.softmax" or (op.name in LINALG_OPS and "reduction" in analyze(op).kinds)


def _bytes(value: ir.Value) -> int | None:
    """What it costs to keep a value: a tensor of floats or booleans, without windows. Other integers count, and are
    lengths in the end."""
    if not is_tensor(value.type) or shape_of(value.type).layout.has_windows:
        return None
    width = bit_width(value.type.element_type)
    if not has_derivative(value) and width != 1:
        return None
    extents = shape_of(value.type).shape
    return -(-width // 8) * math.prod(_UNKNOWN if extent is None else extent for extent in extents)


def use_kept(value: ir.Value, storage: ir.Value) -> tuple[ir.Value, list[ir.Operation]]:
    """Put kept elements in place of those that a value of a function has; what stands for it, and the ops that were
    made. They have its structure, so that only its elements need not be computed."""
    op = defining_op(value)
    assert op is not None
    with ir.InsertionPoint.after(op), op.location:
        made, kept = recorded(op.block, lambda: reassembled(storage, value))
    value.replace_all_uses_except(kept, made)
    return kept, made
