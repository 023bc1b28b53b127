"""A tensor that is filled run by run, in parallel."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.nests.forall import OpenForall
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.parts import Range


def fill_runs(
    ctx: Lowering,
    count: Mixed,
    into: ir.Value,
    place: Callable[[ir.Value], list[Range]],
    made: Callable[[ir.Value, ir.Value], ir.Value],
) -> ir.Value:
    """`into` with `made(i, run)` where `run` was, which lies at `place(i)` along the axes, for every i below
    `count`. Runs are disjoint."""
    forall = OpenForall(ctx, [count])
    with ir.InsertionPoint(forall.block), ctx.scope():
        i = forall.ivs[0]
        slot = forall.slots[forall.add(into, place(i))]
        slot.current = made(i, slot.current)
    forall.close()
    return forall.result(0)


def fill_row_ids(ctx: Lowering, offsets: ir.Value, size: Mixed) -> ir.Value:
    """The component of every one of so many elements of components with some offsets."""

    def place(q: ir.Value) -> list[Range]:
        return [vectors.component(offsets, q)]

    ids, count = vectors.empty(size), vectors.count(offsets)
    return fill_runs(ctx, count, ids, place, lambda q, run: shapes.fill(build.to_i64(q), run))
