"""Derivatives of a list of ops in a block, made at the insertion point of the caller, behind the ops."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build
from ragged_dialect.ir.match import definer, is_read
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.passes.differentiate import (
    attention,
    control,
    linalg,
    loops,
    making,
    scalars,
    scans,
    steps,
    structure,
    tensors,
)  # fmt: skip
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents, recorded
from ragged_dialect.passes.differentiate.nests import erase_dead
from ragged_dialect.passes.differentiate.tables import has_derivative
from ragged_dialect.passes.differentiate.values import or_zeros

RULES = (attention, control, linalg, loops, making, scalars, scans, steps, structure, tensors)
"""The modules whose import fills the tables."""


def jvp(
    ops: Sequence[ir.Operation], inputs: Sequence[ir.Value], tangents: Sequence[ir.Value], results: Sequence[ir.Value]
) -> list[ir.Value]:
    """The tangents of results of some ops, given those of values that they are computed of."""
    ctx = Tangents(dict(zip(inputs, tangents, strict=True)))
    made, _ = recorded(ir.InsertionPoint.current.block, lambda: ctx.run(ops, results))
    returned = [or_zeros(ctx.of(r), r) for r in results]
    _erase_dead(made, returned)
    return returned


def vjp(
    ops: Sequence[ir.Operation],
    inputs: Sequence[ir.Value],
    results: Sequence[ir.Value],
    cotangents: Sequence[ir.Value],
    block: ir.Block,
) -> list[ir.Value]:
    """The cotangents of values that some ops of a block compute of, given those of results: the tangents are made, what
    is linear in them is transposed, and erased."""
    places = [build.stand_in(x.type, x) for x in inputs]
    ctx = Tangents(dict(zip(inputs, places, strict=True)))
    made, _ = recorded(block, lambda: ctx.run(ops, results))
    back = Cotangents(places, ctx.likes)
    back.spread(made)
    for result, cotangent in zip(results, cotangents, strict=True):
        tangent = ctx.of(result)
        if tangent is not None:
            back.add(tangent, cotangent)
    back.run(made)
    gradients = [or_zeros(back.of(p), x) for x, p in zip(inputs, places, strict=True)]
    _erase_dead([*map(definer, places), *made], gradients)
    return gradients


def _erase_dead(made: Sequence[ir.Operation], results: Sequence[ir.Value]) -> None:
    """Erase what was made and is not read, in loops too: they compute again what some tangents are not made of."""
    for op in reversed(made):
        if not is_read(*op.results) and not any(r in results for r in op.results):
            op.erase()
            continue
        for loop in reversed(find_ops(op, "scf.for")):
            erase_dead(loop.regions[0].blocks[0])


__all__ = ["RULES", "has_derivative", "jvp", "recorded", "vjp"]
