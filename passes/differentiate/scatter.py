"""Adding to places that data gives: the transpose of gathers, and of windows, which may overlap.

One place may be added to by several elements: `ragged.scatter_add`.
"""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import DYNAMIC, ir, tensor
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, shapes
from ragged_dialect.layout import RAGGED
from ragged_dialect.passes.differentiate.nests import Access, mapped
from ragged_dialect.passes.differentiate.values import empty_without, zeros_like
from ragged_dialect.passes.differentiate.views import fitted, reassembled, storage_of, without_gaps
from ragged_dialect.types import dense_type, is_ragged, shape_of


class Place:
    """Where the elements of a tensor are in its storage, as one dim."""

    def __init__(self, like: ir.Value) -> None:
        self.shape = shape_of(like.type)
        letters = self.shape.layout.letters
        self.starts = {dim: builders.starts(like, dim) for dim, letter in enumerate(letters) if letter in RAGGED}
        self.extents = {dim: shapes.dim(like, dim) for dim, letter in enumerate(letters) if letter == "d"}
        self.sizes = storage_sizes(like)

    def of(self, indices: list[ir.Value], features: int = 0) -> ir.Value:
        """The position of indices, of all dims but the last ones, features of a row that have axes of their own."""
        found: build.Mixed = 0
        for number in range(len(self.shape.layout.axes) - features):
            within: build.Mixed = 0
            for dim in self.shape.layout.dims(number):
                if dim in self.starts:
                    within = shapes.load(self.starts[dim], within)
                elif dim in self.extents:
                    within = build.mul(within, self.extents[dim])
                within = build.add(within, build.mul(indices[dim], self.shape.factor(dim)))
            found = build.add(build.mul(found, self.sizes[number]), within)
        return build.value(found)


def storage_sizes(like: ir.Value) -> list[build.Mixed]:
    """Extents of the storage of a tensor."""
    return shapes.dims(builders.values(like) if is_ragged(like.type) else like)


def flat(x: ir.Value, kept: int = 0, first: int = 0) -> ir.Value:
    """A dense tensor with all dims but the first ones, and the last ones that are kept, as one."""
    rank = x.type.rank
    last = rank - kept
    if last - first == 1:
        return x
    if not rank:
        return tensor.from_elements(dense_type((1,), x.type.element_type), [tensor.extract(x, [])])
    return shapes.collapse(x, [*([k] for k in range(first)), [*range(first, last)], *([k] for k in range(last, rank))])


def added(terms: ir.Value, positions: ir.Value, like: ir.Value) -> ir.Value:
    """A tensor like another of sums of terms at positions of its storage: of elements, or of rows where terms have
    features, which are its last dims or the first part of these."""
    whole = without_gaps(like)
    storage = storage_of(whole)
    sizes = shapes.dims(storage)
    above = len(sizes) - len(terms.type.shape) + 1
    sums = builders.scatter_add(terms, positions, build.value(build.product(sizes[:above])))
    made = _shaped(sums, sizes[:above])
    rest = list(storage.type.shape)[above:]
    if DYNAMIC in rest or list(made.type.shape)[above:] != rest:
        own = shapes.dims(made)
        made = shapes.insert_slice(made, zeros_like(storage), [0] * len(sizes), own)
    return fitted(reassembled(made, whole), like)


def _shaped(x: ir.Value, sizes: list[build.Mixed]) -> ir.Value:
    """A tensor whose first dim is in the shape of several."""
    if len(sizes) == 1:
        return x
    features = len(x.type.shape) - 1
    out = shapes.empty([*sizes, *(shapes.dim(x, d + 1) for d in range(features))], x.type.element_type)
    rank = len(sizes) + features

    def body(_: list[ir.Value]) -> ir.Value:
        at: build.Mixed = 0
        for axis, size in enumerate(sizes):
            at = build.add(build.mul(at, size), loop_index(axis))
        return tensor.extract(x, [build.value(at), *(loop_index(d) for d in range(len(sizes), rank))])

    return mapped([], Access(out, ir.AffineMap.get_identity(rank)), ["parallel"] * rank, body)


def windows_added(cotangent: ir.Value, shown: ir.Value, storage: ir.Value) -> ir.Value:
    """The cotangent of the storage that windows show: a row in several windows gets the sum."""
    cotangent, place, rank = without_gaps(cotangent), Place(shown), len(shown.type.shape)
    layout = shape_of(shown.type).layout
    features = next(k for k in range(rank) if not layout.is_plain(rank - 1 - k))
    like = empty_without(cotangent, frozenset(range(rank - features, rank)), build.i64())
    loops = rank - features

    def position(_: list[ir.Value]) -> ir.Value:
        return build.to_i64(place.of([loop_index(loop) for loop in range(loops)], features))

    positions = mapped([], Access(like, ir.AffineMap.get_identity(loops)), ["parallel"] * loops, position)
    return added(flat(storage_of(cotangent), features), flat(storage_of(positions)), storage)
