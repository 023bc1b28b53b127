"""Fills that only say where a reduction starts: the scalar becomes part of the reduction, the fill is removed.

No pass of its own: a linalg reduction starts from what is in its outs, so that IR has no place for the scalar between
the removal of the fill and the kernel that starts from it.
"""

from __future__ import annotations

from functools import cache

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import blocks_of, filled_with
from ragged_dialect.lowering.buffers.subviews import is_buffer, is_same, root, touched_by
from ragged_dialect.lowering.gpu.kernel.combiner import combiners_of, is_split
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp

_CONTROL = ("scf.for", "scf.if", "scf.while", "scf.forall")


def fold_fills(block: ir.Block) -> dict[tuple[ir.Operation, int], ir.Value]:
    """Remove such fills from a block and the regions in it; the scalar by (reduction, out)."""
    inits: dict[tuple[ir.Operation, int], ir.Value] = {}
    for op in [op.operation for op in block.operations]:
        if op.name in _CONTROL:
            for inner in blocks_of(op):
                inits.update(fold_fills(inner))
    for fill, found, scalar in foldable_fills(block):
        inits[found] = scalar
        fill.erase()
    return inits


def foldable_fills(block: ir.Block) -> list[tuple[ir.Operation, tuple[ir.Operation, int], ir.Value]]:
    """Such fills of a block itself: the fill, the (reduction, out) it is for, and the scalar."""
    fills: list[tuple[ir.Operation, tuple[ir.Operation, int], ir.Value]] = []
    later: dict[ir.Value, ir.Operation] = {}  # the next op that touches a buffer
    apart = cache(_Split)
    ops = [op.operation for op in block.operations]
    scalars = [filled_with(op) for op in ops]
    first = next((k for k, scalar in enumerate(scalars) if scalar is not None), len(ops))
    for op, scalar in reversed(list(zip(ops, scalars, strict=True))[first:]):
        if scalar is not None:
            view = GenericOp(op).outs[0]
            reader = later.get(root(view))
            found = None if reader is None or reader.name != "linalg.generic" else _out_of(apart(reader), view)
            if reader is not None and found is not None:
                fills.append((op, (reader, found), scalar))
        later.update(dict.fromkeys(touched_by(op), op))
    return fills[::-1]


class _Split:
    """A generic, and the outs that it is a known reduction into, of which threads do parts."""

    def __init__(self, op: ir.Operation) -> None:
        self.generic = GenericOp(op)
        self.outs = combiners_of(self.generic) if is_split(self.generic) else {}


def _out_of(reduction: _Split, view: ir.Value) -> int | None:
    """The number of the out that is a view of a buffer, when a reduction into it does not read the buffer otherwise."""
    buffer, generic = root(view), reduction.generic
    places = [k for k, x in enumerate(generic.operands) if is_buffer(x) and root(x) == buffer]
    if len(places) != 1 or any(root(load.operands[0]) == buffer for load in generic.loads):
        return None
    out = places[0] - generic.n_inputs
    if out not in reduction.outs or not is_same(generic.outs[out], view):
        return None
    return out if generic.maps[places[0]].is_projected_permutation else None  # which writes all of it
