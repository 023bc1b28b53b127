"""Ragged values: dense storage, and one `Axis` of nested lists per storage axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np

from ragged_dialect.errors import RaggedError
from ragged_dialect.layout import Layout
from ragged_dialect.reference.axis import Axis, Node
from ragged_dialect.reference.building import build
from ragged_dialect.shape import RaggedShape

Array: TypeAlias = np.ndarray
Datum: TypeAlias = "np.generic | Array | RaggedValue"
"""A scalar, a dense tensor or a ragged one."""


@dataclass(frozen=True)
class RaggedValue:
    """A tensor as the interpreter holds it: its type's shape, the storage, one axis per dim of the
    storage. Dense tensors are plain arrays outside the structure ops."""

    shape: RaggedShape
    values: Array
    axes: tuple[Axis, ...]

    @staticmethod
    def from_parts(shape: RaggedShape, parts: Sequence[Array]) -> RaggedValue:
        """A value from its 1:N form (`RaggedShape.parts`), which is taken to be valid."""
        wanted = shape.parts()
        if len(parts) != len(wanted):
            raise RaggedError(f"expected {len(wanted)} parts, got {len(parts)}")
        values = np.asarray(parts[0])
        if values.ndim != shape.layout.storage_rank:
            raise RaggedError(f"expected values of rank {shape.layout.storage_rank}, got {values.ndim}")
        axes: list[Axis] = []
        for axis, letters in enumerate(shape.layout.axes):
            dims = shape.layout.dims(axis)
            own = [(part, given) for part, given in zip(wanted[1:], parts[1:], strict=True) if part.dim in dims]
            given_extents = {part.dim: int(given) for part, given in own if part.kind == "extent"}
            vectors = [list(given) for part, given in own if part.kind != "extent"]
            extents = [given_extents.get(dim, shape.shape[dim]) for dim in dims]
            axes.append(build(letters, extents, vectors, values.shape[axis]))
        return RaggedValue(shape, values, tuple(axes))

    @staticmethod
    def of(value: Datum) -> RaggedValue:
        """The value itself, or a dense array as a value of plain axes."""
        if isinstance(value, RaggedValue):
            return value
        array = np.asarray(value)
        shape = RaggedShape(Layout.dense(array.ndim), tuple(array.shape))
        return RaggedValue(shape, array, tuple(Axis.plain(n) for n in array.shape))

    @staticmethod
    def make(values: Array, axes: Sequence[Axis]) -> RaggedValue | Array:
        """The value of axes; a plain array when all of them are dense."""
        layout = Layout(tuple(a.letters for a in axes))
        if layout.is_dense:
            return values
        return RaggedValue(RaggedShape(layout, tuple(e for a in axes for e in a.extents)), values, tuple(axes))

    def to_parts(self) -> tuple[Array | int, ...]:
        """The 1:N form: arrays, and extents as ints. Windows give their starts as held."""
        vectors = iter(np.array(v, np.int64) for axis in self.axes for v in axis.vectors())
        parts: list[Array | int] = []
        for part in self.shape.parts():
            if part.kind == "values":
                parts.append(self.values)
            elif part.kind == "extent":
                parts.append(self.extent(part.dim))
            else:
                parts.append(next(vectors))
        return tuple(parts)

    def to_nested(self) -> Node:
        """The elements as nested lists, one level per logical dim."""
        if not self.axes:
            return self.values.item()
        trees = [axis.expand() for axis in self.axes]

        def walk(axis: int, place: int, node: Node, index: tuple[int, ...]) -> Node:
            if place < len(self.axes[axis].letters):
                return [walk(axis, place + 1, child, index) for child in node]
            index = (*index, node)
            if axis == len(self.axes) - 1:
                return self.values[index].item()
            return walk(axis + 1, 0, trees[axis + 1], index)

        return walk(0, 0, trees[0], ())

    def locate(self, dim: int) -> tuple[int, int]:
        """Storage axis of a logical dim, and its place there."""
        return self.shape.layout.locate(dim)

    def extent(self, dim: int) -> int:
        """Extent of a dense dim or a tile."""
        axis, place = self.locate(dim)
        extent = self.axes[axis].extents[place]
        assert extent is not None
        return extent

    def length(self, dim: int, index: Sequence[int]) -> int:
        """Length of `dim` under the indices of all dims before it."""
        axis, place = self.locate(dim)
        extent = self.axes[axis].extents[place]
        if extent is not None and self.axes[axis].letters[place] == "d":
            return extent
        first = self.shape.layout.dims(axis)[0]
        return len(self.axes[axis].at(index[first : first + place]))

    def position(self, index: Sequence[int]) -> tuple[int, ...]:
        """Storage index of a logical index."""
        return tuple(
            axis.at(index[dims.start : dims.stop])
            for axis, dims in ((a, self.shape.layout.dims(k)) for k, a in enumerate(self.axes))
        )

    def indices(self) -> Iterator[tuple[int, ...]]:
        """All logical indices, in order."""

        def walk(node: Node, depth: int) -> Iterator[tuple[int, ...]]:
            if depth == 0:
                yield ()
                return
            for i, child in enumerate(node):
                for rest in walk(child, depth - 1):
                    yield (i, *rest)

        trees = [list(walk(axis.expand(), len(axis.letters))) for axis in self.axes]
        for picked in product(*trees):
            yield tuple(i for part in picked for i in part)

    def gather(self) -> Array:
        """The elements in logical order, one axis per storage axis; copies."""
        return self.values[np.ix_(*(np.array(axis.positions(), np.int64) for axis in self.axes))]

    def compact(self) -> RaggedValue:
        """Windows become contiguous levels; copies."""
        made = RaggedValue.make(self.gather(), [axis.compact() for axis in self.axes])
        return RaggedValue.of(made)

    def fresh(self, values: Array | None = None) -> RaggedValue:
        """The same structure on contiguous storage of its own, which holds `values` (in logical
        order) or a copy of the elements."""
        return RaggedValue(self.shape, self.gather() if values is None else values, tuple(a.fresh() for a in self.axes))
