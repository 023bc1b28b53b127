"""Storage with the structure of another value: contiguous where that has windows."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import ir
from ragged_dialect.ir import shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.iteration import Access, Iteration
from ragged_dialect.layout import RAGGED
from ragged_dialect.lowering.nests.emit import lower_nest
from ragged_dialect.lowering.nests.nest import Payload, make_nest
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.lowering.structure import walks
from ragged_dialect.types import storage_type


def contiguous_like(ctx: Lowering, like: Parts, element: ir.Type) -> Parts:
    """Uninitialised storage of an element type with the structure of a value; its windows become
    contiguous and its own."""
    sizes = like.storage_dims()
    new = dict(like.vectors)
    windows: dict[int, ir.Value] = {}
    for axis in range(like.layout.storage_rank):
        if "w" in like.layout.axes[axis]:
            sizes[axis] = own_axis(ctx, like, axis, new, windows)
    values = shapes.empty(sizes, element)
    values = shapes.cast(values, storage_type(like.shape, element))
    return Parts(ctx, like.shape, values, new, dict(like.extents), windows)


def own_axis(
    ctx: Lowering, like: Parts, axis: int, new: dict[tuple[str, int], ir.Value], windows: dict[int, ir.Value]
) -> Mixed:
    """Contiguous vectors for every ragged level of an axis with windows; returns its extent."""
    dims = like.layout.dims(axis)
    offsets: ir.Value | None = None
    for at, dim in enumerate(dims):
        letter = like.layout.letter(dim)
        if letter not in RAGGED:
            continue
        key = ("own", tuple(like.vectors[k, d] for k, d in like.vectors if d <= dim and d >= dims[0]), at)
        lengths = ctx.memo((*key, "lengths"), lambda at=at, dim=dim: _stored_lengths(like, axis, at, dim))
        offsets = ctx.memo((*key, "offsets"), lambda lengths=lengths: vectors.scan(lengths))
        if letter == "r":
            new["offsets", dim] = offsets
        else:
            new["lengths", dim] = lengths
            new["starts", dim] = ctx.memo((*key, "starts"), lambda offsets=offsets: vectors.but_last(offsets))
            windows[dim] = offsets
    assert offsets is not None
    last = offsets
    return ctx.memo(("load last", last), lambda: vectors.last(last))


def _stored_lengths(like: Parts, axis: int, at: int, dim: int) -> ir.Value:
    """Lengths in elements of a level, one per logical index tuple above it."""
    if "w" not in like.layout.axes[axis][:at]:
        return walks.element_lengths(like, dim)

    def length(fixed: list[Mixed]) -> Mixed:
        return like.component(dim, like.position(axis, fixed))[1]

    return walks.per_tuple(like, axis, at, length)


def own_windows(ctx: Lowering, parts: Parts, reads: bool) -> Parts:
    """An out operand: with windows it gets storage of its own, with the elements copied when the
    op reads them. Storage that is already its own is used as it is."""
    if not parts.layout.has_windows or all(
        dim in parts.windows for dim, c in enumerate(parts.layout.letters) if c == "w"
    ):
        return parts
    made = contiguous_like(ctx, parts, parts.element)
    return copy_into(ctx, parts, made) if reads else made


def run_nest(
    ctx: Lowering, sources: list[Parts], outs: list[Parts], loops: list[list[int]], kinds: list[str], payload: Payload
) -> Parts:
    """A nest with plain loop indices per operand, the outs last; the first of its results."""
    accesses = tuple(
        Access(x.shape, tuple(own), tuple(ir.AffineDimExpr.get(k) for k in own))
        for x, own in zip([*sources, *outs], loops, strict=True)
    )
    it = Iteration(accesses, len(sources), tuple(kinds), ((),) * len(kinds))
    return lower_nest(ctx, make_nest(it, [*sources, *outs], payload))[0]


def copy_into(ctx: Lowering, source: Parts, target: Parts, made: Callable[[ir.Value], ir.Value] = lambda x: x) -> Parts:
    """The elements of one value, or what is `made` of them, in the storage of another of the same dims."""
    rank = list(range(source.shape.rank))
    return run_nest(ctx, [source], [target], [rank, rank], ["parallel"] * len(rank), lambda a, _: [made(a[0])])
