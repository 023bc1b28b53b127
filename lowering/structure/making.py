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
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.lowering.structure import walks
from ragged_dialect.types import storage_type


def contiguous_like(like: Parts, element: ir.Type) -> Parts:
    """Uninitialised storage of an element type with the structure of a value; its windows become
    contiguous and its own."""
    made = Parts(like.ctx, like.shape, None, dict(like.vectors), dict(like.extents))
    sizes = like.storage_dims()
    for axis, letters in enumerate(like.layout.axes):
        if "w" in letters:
            sizes[axis] = own_axis(like, axis, made)
    made.held = shapes.cast(shapes.empty(sizes, element), storage_type(like.shape, element))
    return made


def own_axis(like: Parts, axis: int, made: Parts, shift: int = 0) -> Mixed:
    """Give `made`, at dims that are so many further, contiguous vectors for every ragged level of an axis with windows;
    returns its extent."""
    dims = like.layout.dims(axis)
    offsets: ir.Value | None = None
    for at, dim in enumerate(dims):
        if like.layout.letter(dim) in RAGGED:
            key = ("own lengths", tuple(like.vectors[k, d] for k, d in like.vectors if d <= dim and d >= dims[0]), at)
            lengths = like.ctx.memo(key, lambda at=at, dim=dim: _stored_lengths(like, axis, at, dim))
            offsets = own_level(made, dim + shift, lengths)
    assert offsets is not None
    last = offsets
    return like.ctx.memo(("load last", last), lambda: vectors.last(last))


def own_level(made: Parts, dim: int, lengths: ir.Value) -> ir.Value:
    """Give a ragged level contiguous vectors, of some lengths in elements; returns its offsets."""
    offsets = made.ctx.memo(("scan", lengths), lambda: vectors.scan(lengths))
    if made.layout.letter(dim) == "r":
        made.vectors["offsets", dim] = offsets
    else:
        made.vectors["starts", dim] = made.ctx.memo(("but last", offsets), lambda: vectors.but_last(offsets))
        made.vectors["lengths", dim], made.windows[dim] = lengths, offsets
    return offsets


def _stored_lengths(like: Parts, axis: int, at: int, dim: int) -> ir.Value:
    """Lengths in elements of a level, one per logical index tuple above it."""
    if "w" not in like.layout.axes[axis][:at]:
        return walks.element_lengths(like, dim)

    def length(fixed: list[Mixed]) -> Mixed:
        return like.component(dim, like.position(axis, fixed))[1]

    return walks.per_tuple(like, axis, at, length)


def own_windows(parts: Parts, reads: bool) -> Parts:
    """An out operand: with windows it gets storage of its own, with the elements copied when the
    op reads them. Storage that is already its own is used as it is."""
    if not parts.layout.has_windows or all(
        dim in parts.windows for dim, c in enumerate(parts.layout.letters) if c == "w"
    ):
        return parts
    made = contiguous_like(parts, parts.element)
    return copy_into(parts, made) if reads else made


def run_nest(source: Parts, outs: list[Parts], loops: list[list[int]], kinds: list[str], payload: Payload) -> Parts:
    """A nest over a value with plain loop indices per operand, the outs last; the first of its results."""
    operands = [source, *outs]
    accesses = tuple(
        Access(x.shape, tuple(own), tuple(ir.AffineDimExpr.get(k) for k in own))
        for x, own in zip(operands, loops, strict=True)
    )
    it = Iteration(accesses, 1, tuple(kinds), ((),) * len(kinds))
    return lower_nest(source.ctx, make_nest(it, operands, payload))[0]


def copy_into(source: Parts, target: Parts, made: Callable[[ir.Value], ir.Value] = lambda x: x) -> Parts:
    """The elements of one value, or what is `made` of them, in the storage of another of the same dims."""
    rank = list(range(source.shape.rank))
    return run_nest(source, [target], [rank, rank], ["parallel"] * len(rank), lambda a, _: [made(a[0])])
