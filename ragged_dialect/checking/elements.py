"""The checks of `tensor.extract` on a ragged tensor: every index against the length at its place."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.checking.checker import Checker, Extent, Q
from ragged_dialect.layout import RAGGED
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import shape_of


def check_extract(ask: Checker[Q], op: ir.Operation) -> None:
    """Indices in the order of the dims: each is looked up under those before it, which hold by then."""
    x, *indices = op.operands
    shape = shape_of(x.type)
    for axis in range(shape.layout.storage_rank):
        dims = shape.layout.dims(axis)
        _check_axis(ask, x, shape, dims, [ask.number(indices[d]) for d in dims])


def _check_axis(ask: Checker[Q], x: ir.Value, shape: RaggedShape, dims: range, indices: list[Extent[Q]]) -> None:
    position: Extent[Q] = 0
    size: Extent[Q] = 0
    before: Extent[Q] = 0
    for dim, index in zip(dims, indices, strict=True):
        letter = shape.layout.letter(dim)
        factor = shape.factor(dim)
        start: Extent[Q] = 0
        if letter in RAGGED:
            start, size = _component(ask, x, dim, position)
        elif letter == "d":
            size = ask.extent(x, dim)
            if shape.layout.is_split_outer(dim):
                size = ask.extent(ask.part("values", x, dim), shape.layout.locate(dim)[0])
        if letter == "t":
            tile = shape.shape[dim]
            assert tile is not None
            bound = ask.least(tile, ask.ceil(ask.minus(size, before), factor))
        else:
            bound = ask.ceil(size, factor)
        ask.valid("index", dim, index, bound)
        before = ask.plus(before if letter == "t" else 0, ask.times(index, factor))
        base = start if letter in RAGGED else ask.times(position, size) if dim > dims.start else 0
        position = index if base == 0 else ask.plus(base, index)


def _component(ask: Checker[Q], x: ir.Value, dim: int, position: Extent[Q]) -> tuple[Extent[Q], Extent[Q]]:
    """Start and number of elements of the component of a ragged level at a parent position."""
    if shape_of(x.type).layout.letter(dim) == "w":
        return ask.entry(ask.part("starts", x, dim), position), ask.entry(ask.part("lengths", x, dim), position)
    offsets = ask.part("offsets", x, dim)
    start = ask.entry(offsets, position)
    return start, ask.minus(ask.entry(offsets, ask.plus(position, 1)), start)
