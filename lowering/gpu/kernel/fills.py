"""Fills that only say where a reduction starts: the scalar becomes part of the reduction, the fill is removed.

No pass of its own: a linalg reduction starts from what is in its outs, so that IR has no place for the scalar between
the removal of the fill and the kernel that starts from it.
"""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import blocks_of, filled_with
from ragged_dialect.lowering.buffers.subviews import is_buffer, is_same, root, touches
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
    ops = [op.operation for op in block.operations]
    fills: list[tuple[ir.Operation, tuple[ir.Operation, int], ir.Value]] = []
    for place, op in enumerate(ops):
        scalar = filled_with(op)
        found = None if scalar is None else _reduction_into(GenericOp(op).outs[0], ops[place + 1 :])
        if found is not None and scalar is not None:
            fills.append((op, found, scalar))
    return fills


def _reduction_into(view: ir.Value, ops: list[ir.Operation]) -> tuple[ir.Operation, int] | None:
    """The next op that touches a buffer, with the out's number, when it is a known reduction into
    the same view that does not read the buffer otherwise."""
    buffer = root(view)
    op = next((op for op in ops if touches(op, buffer)), None)
    if op is None or op.name != "linalg.generic":
        return None
    generic = GenericOp(op)
    places = [k for k, x in enumerate(generic.operands) if is_buffer(x) and root(x) == buffer]
    if len(places) != 1 or any(root(load.operands[0]) == buffer for load in generic.loads):
        return None
    out = places[0] - generic.n_inputs
    if out not in combiners_of(generic) or not is_same(generic.outs[out], view) or not is_split(generic):
        return None
    return (op, out) if generic.maps[places[0]].is_projected_permutation else None  # which writes all of it
