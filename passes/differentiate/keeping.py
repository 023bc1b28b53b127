"""What a function keeps of its values for its gradient, which then need not compute them again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ragged_dialect._mlir import ext, ir
from ragged_dialect.ir.match import bit_width, definer, defining_op, is_number
from ragged_dialect.ir.numbering import numbered
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
) -> list[list[Place]]:
    """What to keep of the values of a function, which has ops, in order: the fewest bytes of which its gradients are
    computed without a reduction; where each is, by equal ops maybe several times. Results cost nothing, and so do
    arguments, which are there. What is computed again is done by the loops that read what was kept."""
    graph = _Graph(ops, results)
    left: list[tuple[ir.Value, int | None]] = [(gradient, None) for gradient in gradients]
    while left:
        left += graph.add(*left.pop())
    cut = vertex_cut(graph.costs, graph.edges, graph.reductions, graph.read)
    places: dict[int, list[Place]] = {}
    for number, op in enumerate(ops):
        for k, result in enumerate(op.results):
            if graph.numbers[result] in cut:
                places.setdefault(graph.numbers[result], []).append(Place(number, k))
    return list(places.values())


class _Graph:
    """The values of a function that its gradients are computed of, by number, and which is computed of which."""

    def __init__(self, ops: Sequence[ir.Operation], results: Sequence[ir.Value]) -> None:
        self.numbers = numbered(ops)
        self.costs: dict[int, int | None] = {}
        self.edges: list[tuple[int, int]] = []
        self.reductions: list[int] = []
        self.read: list[int] = []
        """Those that ops of the gradients read."""
        self._ops = set(ops)
        self._free = {self.numbers[x] for x in results}
        self._seen: set[ir.Value] = set()

    def add(self, value: ir.Value, reader: int | None) -> list[tuple[ir.Value, int | None]]:
        """Add a value, which a value of the function is computed of, or something of the gradients; what it is computed
        of itself, unless that was asked before."""
        op = defining_op(value)
        if op is None:
            return []
        own = self.numbers[value] if op in self._ops else None
        if own is not None and reader is None:
            self.read.append(own)
        elif own is not None and reader is not None:
            self.edges.append((own, reader))
        if value in self._seen:
            return []
        self._seen.add(value)
        if own is not None:
            cost = _bytes(value)
            self.costs[own] = cost and cost * (own not in self._free)
            if _reduces(op) and cost is not None:
                self.reductions.append(own)
        if op.name in CONSTANT:  # it takes of a value how it is nested, but none of its elements
            return []
        return [(x, own) for x in reads(op)]


def _reduces(op: ir.Operation) -> bool:
    if isinstance(op.opview, ext.Operation):
        return getattr(op.opview, "reduces", False)
    return op.name == "linalg.softmax" or (op.name in LINALG_OPS and "reduction" in analyze(op).kinds)


def _bytes(value: ir.Value) -> int | None:
    """What it costs to keep a value: a tensor of floats or booleans, without windows. Other integers count, and are
    lengths in the end."""
    if not is_tensor(value.type) or shape_of(value.type).layout.has_windows:
        return None
    element = value.type.element_type
    width = bit_width(element) if is_number(element) else 0
    if not has_derivative(value) and width != 1:
        return None
    extents = shape_of(value.type).shape
    return -(-width // 8) * math.prod(_UNKNOWN if extent is None else extent for extent in extents)


def use_kept(value: ir.Value, storage: ir.Value) -> tuple[ir.Value, list[ir.Operation]]:
    """Put kept elements in place of those that a value of a function has; what stands for it, and the ops that were
    made. They have its structure, so that only its elements need not be computed."""
    op = definer(value)
    with ir.InsertionPoint.after(op), op.location:
        made, kept = recorded(op.block, lambda: reassembled(storage, value))
    value.replace_all_uses_except(kept, made)
    return kept, made
