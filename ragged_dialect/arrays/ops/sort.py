"""`sort` and `argsort`: the elements of every component, or of a dense dim, in order.

All elements are sorted at once by the digits of their keys, the lowest first, and then by what they are compared
within, a component's rows of a feature: `ragged.group_by` is stable (radix sort).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ragged_dialect import builders, generic
from ragged_dialect._mlir import arith, ir, math, tensor
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.index.dims import dim_of, restored
from ragged_dialect.arrays.index.rows import component_lengths, component_starts, row_ids
from ragged_dialect.arrays.ops.order import KEYS, key
from ragged_dialect.arrays.ops.reduce import source
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis, shape_of
from ragged_dialect.arrays.tracing.elements import INT64, constant, kind
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import element_type, known
from ragged_dialect.errors import LayoutError
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED
from ragged_dialect.types import dense_type

_DIGIT = 10
"""Bits of a digit at most: as many counts are sorted at once on GPUs, too (`DeviceModel.grouped_counts`)."""


@operation("sort")
def sort(x: Tensor, *, axis: int = -1, descending: bool = False) -> Tensor:
    """The elements along an innermost ragged dim or a dense one in ascending order, every component by itself. Equal
    ones stay in order; nan is larger than all, as in `np.sort`. The values have a gradient, which goes where they are
    from. LayoutError for a dim above a ragged one.

    >>> rg.sort(rg.ragged([[3.0, 1.0, 2.0], [], [5.0, 4.0]]), axis=1).tolist()
    [[1.0, 2.0, 3.0], [], [4.0, 5.0]]
    """
    x = source(x)
    return Sorted.of(x, dim_of(x, axis), descending).values


@operation("argsort")
def argsort(x: Tensor, *, axis: int = -1, descending: bool = False) -> Tensor:
    """The indices that sort, int64, as `sort` has the elements: `x[rg.argsort(x, axis=1)]` is `rg.sort(x, axis=1)` of
    lists of numbers.

    >>> rg.argsort(rg.ragged([[3.0, 1.0, 2.0], [], [5.0, 4.0]]), axis=1).tolist()
    [[1, 2, 0], [], [1, 0]]
    """
    x = source(x)
    return Sorted.of(x, dim_of(x, axis), descending).indices


@dataclass(frozen=True)
class Sorted:
    """A tensor sorted along a storage axis. `order` has the flat places of elements, those of the first group, then
    those of the second one. A group are the elements of a component, which the axis's positions have in `rows`, or of
    all of the axis, that are at one index of every other axis."""

    x: Tensor
    number: int
    flat: ir.Value
    rows: ir.Value | None
    starts: ir.Value | None
    lengths: ir.Value | None
    order: ir.Value

    @staticmethod
    def of(x: Tensor, dim: int, descending: bool) -> Sorted:
        """Sort the elements along a dim."""
        number, level = x.place(dim)
        axis = x.axes[number]
        ragged = isinstance(axis, NestedAxis) and level == len(axis.letters) - 1 and axis.letters[level] in RAGGED
        if not ragged and not isinstance(axis, PlainAxis):
            text = f'expected an innermost ragged dim, or a dense one of its own, got dim {dim} of layout "{x.layout}"'
            raise LayoutError(f"{x.trace.op}: {text}")
        sizes = x.storage_sizes()
        flat = x.storage
        if len(sizes) > 1:
            flat = restored(x, [list(range(len(sizes)))], [PlainAxis(None)], expand=False).storage
        rows = starts = lengths = None
        if isinstance(axis, NestedAxis):
            rows, starts, lengths = row_ids(x, axis), component_starts(x, dim), component_lengths(x, dim)
        found = Sorted(x, number, flat, rows, starts, lengths, _by_digits(flat, x.dtype, descending))
        groups = build.product([*sizes[:number], found.components, *sizes[number + 1 :]])
        return replace(found, order=_stably(found.order, found._group, groups))

    @property
    def components(self) -> Mixed:
        """How many there are along the axis."""
        return 1 if self.lengths is None else shapes.dim(self.lengths, 0)

    @property
    def values(self) -> Tensor:
        """The elements in order."""
        return self._elements(self.x.dtype, lambda place: tensor.extract(self.flat, [place]))

    @property
    def indices(self) -> Tensor:
        """Their indices, int64."""
        return self._elements(INT64, lambda place: build.to_i64(self._index(place)))

    def _split(self, place: ir.Value) -> tuple[Mixed, ir.Value, Mixed]:
        """What is before the axis, the position along it, and what is behind it, of a flat place."""
        sizes = self.x.storage_sizes()
        size, inner = sizes[self.number], build.product(sizes[self.number + 1 :])
        rest, behind = _divided(place, inner)
        before, position = (0, rest) if self.number == 0 else _divided(rest, size)
        return before, build.value(position), behind

    def _component(self, position: Mixed) -> tuple[Mixed, Mixed, Mixed]:
        """The component of a position of the axis, where it starts and how long it is."""
        if self.rows is None:
            return 0, 0, self.x.storage_sizes()[self.number]
        assert self.starts is not None
        assert self.lengths is not None
        row = shapes.load(self.rows, position)
        return row, shapes.load(self.starts, row), shapes.load(self.lengths, row)

    def _group(self, place: ir.Value) -> ir.Value:
        """What an element is compared within, as a number."""
        before, position, behind = self._split(place)
        sizes = self.x.storage_sizes()
        number = build.add(build.mul(before, self.components), self._component(position)[0])
        return build.value(build.add(build.mul(number, build.product(sizes[self.number + 1 :])), behind))

    def _index(self, place: ir.Value) -> Mixed:
        """The index of an element in its component."""
        position = self._split(place)[1]
        return build.sub(position, self._component(position)[1])

    def _elements(self, dtype: DType, element: Callable[[ir.Value], ir.Value]) -> Tensor:
        """What is asked of the place of each element, in the structure of the source."""
        sizes = self.x.storage_sizes()
        static = shape_of(self.x.axes).storage_shape()
        rank, inner = len(sizes), build.product(sizes[self.number + 1 :])
        init = shapes.cast(shapes.empty(sizes, element_type(dtype)), dense_type(static, element_type(dtype)))

        def body(_: list[ir.Value]) -> list[ir.Value]:
            indices: list[Mixed] = [loop_index(k) for k in range(rank)]
            above, below = slice(self.number), slice(self.number + 1, rank)
            before, behind = _joined(indices[above], sizes[above]), _joined(indices[below], sizes[below])
            position = indices[self.number]
            start, length = self._component(position)[1:]
            first = build.mul(build.add(build.mul(before, sizes[self.number]), start), inner)
            own = build.add(build.mul(behind, length), build.sub(position, start))
            return [element(shapes.load(self.order, build.add(first, own)))]

        op = generic.generic([], [init], [ir.AffineMap.get_identity(rank)], ["parallel"] * rank, body)
        return self.x.trace.assembled(op.result, self.x.axes, dtype)


def _by_digits(flat: ir.Value, dtype: DType, descending: bool) -> ir.Value:
    """The places of elements in the order of their keys."""
    size, own = shapes.dim(flat, 0), KEYS[dtype.itemsize]
    bits = 1 if kind(dtype) == "b" else 8 * dtype.itemsize
    passes = -(-bits // _DIGIT)
    width = -(-bits // passes)

    def unsigned(i: ir.Value) -> ir.Value:
        made = key(tensor.extract(flat, [i]), dtype)
        if bits > 1:
            made = arith.xori(made, constant(own, -(2 ** (bits - 1))))
        made = arith.xori(made, constant(own, -1 if bits > 1 else 1)) if descending else made
        return made if bits == 64 else arith.extui(build.i64(), made)

    keys = vectors.generate(size, unsigned)
    first, count = _digits(keys, width)

    def step(number: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        shift = build.to_i64(build.mul(build.add(first, number), width))

        def digit(place: ir.Value) -> ir.Value:
            shifted = arith.shrui(tensor.extract(keys, [place]), shift)
            return arith.andi(shifted, build.constant(build.i64(), (1 << width) - 1))

        return [_stably(state[0], digit, 1 << width)]

    return flow.for_loop(count, [vectors.generate(size, lambda i: i)], step)[0]


def _digits(keys: ir.Value, width: int) -> tuple[Mixed, ir.Value]:
    """The lowest digit in which some keys differ, and how many there are up to the highest one: of numbers below 1,000
    one, of a float64 of such a number a few."""
    bits = build.constant(build.i64(), 64)
    none, row = ir.AffineMap.get(1, 0, []), ir.AffineMap.get_identity(1)
    zero = shapes.fill(build.constant(build.i64(), 0), shapes.empty([], build.i64()))

    def differing(given: list[ir.Value]) -> list[ir.Value]:
        return [arith.ori(given[1], arith.xori(given[0], tensor.extract(keys, [build.value(0)])))]

    found = tensor.extract(generic.generic([keys], [zero], [row, none], ["reduction"], differing).result, [])
    low = build.divide(build.to_index(math.cttz(found)), width)
    end = build.ceildiv(build.to_index(arith.subi(bits, math.ctlz(found))), width)
    return low, build.value(build.maximum(build.sub(end, low), 0))


def _stably(order: ir.Value, number: Callable[[ir.Value], ir.Value], count: Mixed) -> ir.Value:
    """Places sorted by numbers below `count`."""
    size = shapes.dim(order, 0)
    numbers = vectors.generate(size, lambda i: number(shapes.load(order, i)))
    places = known(builders.group_by(numbers, build.value(count)))
    return vectors.gather(order, builders.values(places))


def _divided(x: ir.Value, by: Mixed) -> tuple[ir.Value, Mixed]:
    if isinstance(by, int) and by == 1:
        return x, 0
    return arith.divui(x, build.value(by)), arith.remui(x, build.value(by))


def _joined(indices: list[Mixed], sizes: list[Mixed]) -> Mixed:
    """The position of indices below extents."""
    found: Mixed = 0
    for index, size in zip(indices, sizes, strict=True):
        found = build.add(build.mul(found, size), index)
    return found
