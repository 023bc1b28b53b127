"""What is left of parts of a reduction, and how it is put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragged_dialect._mlir import ir
from ragged_dialect.generic import generic
from ragged_dialect.ir import memory
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.buffers.subviews import extent, subview
from ragged_dialect.lowering.nests.combiners import Combiner


def allocated(tiles: Mixed, out: ir.Value) -> ir.Value:
    """Room for as many parts of an out."""
    return memory.room([tiles, *(extent(out, k) for k in range(out.type.rank))], out.type.element_type)


def part(parts: ir.Value, tile: ir.Value) -> ir.Value:
    """One of the parts."""
    shape = [extent(parts, k) for k in range(1, parts.type.rank)]
    return subview(parts, [tile, *[0] * len(shape)], [1, *shape], range(1, len(shape) + 1))


def combine(combiner: Combiner, parts: ir.Value, out: ir.Value) -> None:
    """Combine the parts, in their order, into an out, which holds where the reduction starts."""
    over_parts([parts], [], out, lambda a: combiner.apply(a[0], a[1]))


def over_parts(
    parts: Sequence[ir.Value], others: Sequence[ir.Value], out: ir.Value, body: Callable[[list[ir.Value]], ir.Value]
) -> None:
    """Put parts together, in their order, into an out: the body gets elements of each of `parts` and of `others`, which
    are like the out, and what the out holds so far."""
    (own, kept), kinds = _loops(out)
    maps = [*[own] * len(parts), *[kept] * (len(others) + 1)]
    generic([*parts, *others], [out], maps, kinds, lambda a: [body(a)])


def starts(combiner: Combiner, parts: ir.Value, out: ir.Value) -> None:
    """Combine the parts as `combine` does, and leave in the place of each what the out holds before it."""
    generic([], [parts, out], *_loops(out), lambda a: [a[1], combiner.apply(a[0], a[1])])


def _loops(out: ir.Value) -> tuple[list[ir.AffineMap], list[str]]:
    rank = out.type.rank
    kept = ir.AffineMap.get(rank + 1, 0, [ir.AffineDimExpr.get(d + 1) for d in range(rank)])
    return [ir.AffineMap.get_identity(rank + 1), kept], ["reduction", *["parallel"] * rank]
