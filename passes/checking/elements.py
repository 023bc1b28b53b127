"""The checks of `tensor.extract` on a ragged tensor: every index against the length at its place."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.layout import RAGGED
from ragged_dialect.passes.checking.emitter import Emitter, Extent
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import shape_of


def check_extract(emit: Emitter, op: ir.Operation) -> None:
    """Indices in the order of the dims: each is looked up under those before it, which hold by then."""
    x, *indices = op.operands
    shape = shape_of(x.type)
    for axis in range(shape.layout.storage_rank):
        dims = shape.layout.dims(axis)
        _check_axis(emit, x, shape, dims, [emit.number(indices[d]) for d in dims])


def _check_axis(emit: Emitter, x: ir.Value, shape: RaggedShape, dims: range, indices: list[Extent]) -> None:
    position: Extent = 0
    size: Extent = 0
    before: Extent = 0
    for dim, index in zip(dims, indices, strict=True):
        letter = shape.layout.letter(dim)
        factor = shape.factor(dim)
        start: Extent = 0
        if letter in RAGGED:
            start, size = _component(emit, x, dim, position)
        elif letter == "d":
            size = emit.extent(x, dim)
            if shape.layout.is_split_outer(dim):
                size = emit.extent(emit.part("values", x, dim), shape.layout.locate(dim)[0])
        if letter == "t":
            tile = shape.shape[dim]
            assert tile is not None
            bound = emit.least(tile, emit.ceil(emit.minus(size, before), factor))
        else:
            bound = emit.ceil(size, factor)
        emit.valid("index", dim, index, bound)
        before = emit.plus(before if letter == "t" else 0, emit.times(index, factor))
        base = start if letter in RAGGED else emit.times(position, size) if dim > dims.start else 0
        position = index if base == 0 else emit.plus(base, index)


def _component(emit: Emitter, x: ir.Value, dim: int, position: Extent) -> tuple[Extent, Extent]:
    """Start and number of elements of the component of a ragged level at a parent position."""
    if shape_of(x.type).layout.letter(dim) == "w":
        return emit.entry(emit.part("starts", x, dim), position), emit.entry(emit.part("lengths", x, dim), position)
    offsets = emit.part("offsets", x, dim)
    start = emit.entry(offsets, position)
    return start, emit.minus(emit.entry(offsets, emit.plus(position, 1)), start)
