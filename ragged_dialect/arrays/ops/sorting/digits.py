"""The order of components of any length: all elements at once by the digits of their keys, the lowest first, and then
by what they are compared within. `ragged.group_by` is stable (radix sort).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragged_dialect import builders, generic
from ragged_dialect._mlir import arith, ir, math, tensor
from ragged_dialect.arrays.index.dims import flattened
from ragged_dialect.arrays.index.rows import component_lengths, component_starts, row_ids
from ragged_dialect.arrays.ops.sorting.keys import PLACE
from ragged_dialect.arrays.tracing.axes import NestedAxis, shape_of
from ragged_dialect.arrays.tracing.elements import INT64, constant, select
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import element_type, known
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.types import dense_type

_DIGIT = 10
"""Bits of a digit at most: as many counts are sorted at once on GPUs, too (`DeviceModel.grouped_counts`)."""


def by_digits(keys: Tensor, dim: int) -> Tensor:
    """The indices along a dim that sort keys, int64; equal ones stay in order."""
    groups = _Groups.of(keys, dim)
    order = _by_keys(flattened(keys))

    def in_groups() -> list[ir.Value]:
        return _stably(lambda i: groups.number_of(shapes.load(order, i)), groups.count, order)

    if groups.count == 1:
        return groups.indices(order)
    several = build.more(groups.count, 1)
    return groups.indices(flow.choose(several, in_groups, lambda: [order], [order.type])[0])


@dataclass(frozen=True)
class _Groups:
    """The elements that are sorted with each other: those of a component, which the axis's positions have in `rows`, or
    of all of the axis, that are at one index of every other axis."""

    x: Tensor
    number: int
    rows: ir.Value | None
    starts: ir.Value | None
    lengths: ir.Value | None

    @staticmethod
    def of(x: Tensor, dim: int) -> _Groups:
        """Those along a dim."""
        number = x.place(dim)[0]
        axis = x.axes[number]
        if isinstance(axis, NestedAxis):
            return _Groups(x, number, row_ids(x, axis), component_starts(x, dim), component_lengths(x, dim))
        return _Groups(x, number, None, None, None)

    @property
    def components(self) -> Mixed:
        """How many there are along the axis."""
        return 1 if self.lengths is None else shapes.dim(self.lengths, 0)

    @property
    def count(self) -> Mixed:
        """How many groups there are."""
        sizes = self.x.storage_sizes()
        return build.product([*sizes[: self.number], self.components, *sizes[self.number + 1 :]])

    def number_of(self, place: ir.Value) -> ir.Value:
        """The group of an element, by its flat place."""
        before, position, behind = self._split(place)
        sizes = self.x.storage_sizes()
        number = build.add(build.mul(before, self.components), self._component(position)[0])
        return build.value(build.add(build.mul(number, build.product(sizes[self.number + 1 :])), behind))

    def indices(self, order: ir.Value) -> Tensor:
        """The indices in groups of elements in an order of flat places, those of the first group before those of the
        second one, in the structure of the source."""
        sizes = self.x.storage_sizes()
        static = shape_of(self.x.axes).storage_shape()
        rank, inner = len(sizes), build.product(sizes[self.number + 1 :])
        init = shapes.cast(shapes.empty(sizes, element_type(INT64)), dense_type(static, element_type(INT64)))

        def element(indices: list[ir.Value]) -> ir.Value:
            above, below = slice(self.number), slice(self.number + 1, rank)
            before, behind = _joined(indices[above], sizes[above]), _joined(indices[below], sizes[below])
            position = indices[self.number]
            start, length = self._component(position)[1:]
            first = build.mul(build.add(build.mul(before, sizes[self.number]), start), inner)
            own = build.add(build.mul(behind, length), build.sub(position, start))
            place = shapes.load(order, build.add(first, own))
            return build.to_i64(build.sub(self._split(place)[1], start))

        return self.x.trace.assembled(generic.generated(init, element).result, self.x.axes, INT64)

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


def _by_keys(flat: Tensor) -> ir.Value:
    """The places of elements in the order of their keys, a vector. Places are sorted by one digit after the other, and
    with them the keys, which nobody looks up so: short ones are in front of their place, in one number."""
    bits = 8 * flat.dtype.itemsize
    width = -(-bits // -(-bits // _DIGIT))
    size, front = shapes.dim(flat.storage, 0), build.constant(build.i64(), PLACE)
    is_short = build.at_most(size, 1 << PLACE) if bits + PLACE <= 64 else None

    def key_at(place: ir.Value) -> ir.Value:
        made = tensor.extract(flat.storage, [build.to_index(place)])
        made = arith.xori(made, constant(flat.dtype, -(2 ** (bits - 1))))
        return made if bits == 64 else arith.extui(build.i64(), made)

    def numbered(place: ir.Value) -> ir.Value:
        own = build.to_i64(place)
        return own if is_short is None else select(is_short, arith.ori(arith.shli(key_at(place), front), own), own)

    def place_of(number: ir.Value) -> ir.Value:
        low = arith.andi(number, build.constant(build.i64(), (1 << PLACE) - 1))
        return number if is_short is None else select(is_short, low, number)

    def key_of(number: ir.Value) -> ir.Value:  # too many places to be beside keys: these are looked up
        assert is_short is not None
        i64 = build.i64()
        return flow.choose(is_short, lambda: [arith.shrui(number, front)], lambda: [key_at(number)], [i64])[0]

    keys = vectors.generate(size, key_at)
    first, count = _digits(keys, width)

    def step(number: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        shift = build.to_i64(build.mul(build.add(first, number), width))

        def digit(i: ir.Value) -> ir.Value:
            own = tensor.extract(state[0], [i])
            shifted = arith.shrui(own if is_short is None else key_of(own), shift)
            return arith.andi(shifted, build.constant(build.i64(), (1 << width) - 1))

        return _stably(digit, 1 << width, *state)

    numbers = vectors.generate(size, numbered)
    made = flow.for_loop(count, [keys, numbers] if is_short is None else [numbers], step)[-1]
    return vectors.generate(size, lambda i: place_of(tensor.extract(made, [i])))


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


def _stably(key: Callable[[ir.Value], ir.Value], count: Mixed, *numbers: ir.Value) -> list[ir.Value]:
    """Vectors of numbers, each sorted by keys below `count` that follow from places."""
    keys, most = vectors.generate(shapes.dim(numbers[0], 0), key), build.value(count)
    return [builders.values(known(builders.group_by(keys, most, one))) for one in numbers]


def _divided(x: ir.Value, by: Mixed) -> tuple[ir.Value, Mixed]:
    if isinstance(by, int) and by == 1:
        return x, 0
    return arith.divui(x, build.value(by)), arith.remui(x, build.value(by))


def _joined(indices: Sequence[Mixed], sizes: list[Mixed]) -> Mixed:
    """The position of indices below extents."""
    found: Mixed = 0
    for index, size in zip(indices, sizes, strict=True):
        found = build.add(build.mul(found, size), index)
    return found
