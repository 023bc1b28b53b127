"""Rows by index vectors: windows, gathers of components and of storage rows, kept rows of a mask.

Vectors are MLIR values `tensor<?xi64>`; positions are those of a storage axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from ragged_dialect import builders, generic
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.tracing.axes import Axis, NestedAxis, PlainAxis, shape_of
from ragged_dialect.arrays.tracing.elements import INT64, compare, convert, select
from ragged_dialect.arrays.tracing.loops import compute, empty
from ragged_dialect.arrays.tracing.operation import OPERATIONS
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import element_type, known
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED
from ragged_dialect.types import dense_type, storage_type


def with_axis(x: Tensor, number: int, axis: Axis) -> Tensor:
    """The tensor with another axis."""
    return x.trace.assembled(x.storage, [*x.axes[:number], axis, *x.axes[number + 1 :]], x.dtype)


def ragged_level(x: Tensor, dim: int) -> tuple[int, int, NestedAxis]:
    """Axis number, level and axis of a ragged dim. LayoutError for another dim."""
    number, level = x.place(dim)
    axis = x.axes[number]
    if not isinstance(axis, NestedAxis) or axis.letters[level] not in RAGGED:
        raise LayoutError(f'{x.trace.op}: expected a ragged dim, got dim {dim} of layout "{x.layout}"')
    return number, level, axis


def window(x: Tensor, dim: int, starts: ir.Value, lengths: ir.Value) -> Tensor:
    """A ragged dim with other starts and lengths, one per component: a view."""
    number, level, axis = ragged_level(x, dim)
    count = sum({"r": 1, "w": 2}.get(c, 0) for c in axis.letters[:level])
    after = count + (2 if axis.letters[level] == "w" else 1)
    letters = f"{axis.letters[:level]}w{axis.letters[level + 1 :]}"
    made = NestedAxis(
        letters, [*axis.vectors[:count], starts, lengths, *axis.vectors[after:]], explicit_extents(x, number)
    )
    return with_axis(x, number, made)


def narrowed(x: Tensor, dim: int, part: Callable[[ir.Value], tuple[Mixed, Mixed]], whole_front: bool = False) -> Tensor:
    """A part of every component of a ragged dim, of whose length `part` makes its first place and its size: a view.
    With a `whole_front` nothing is left out before it."""
    lengths, starts = component_lengths(x, dim), component_starts(x, dim)
    count = shapes.dim(lengths, 0)
    first = starts
    if not whole_front:
        first = vectors.generate(count, lambda q: build.add(shapes.load(starts, q), part(shapes.load(lengths, q))[0]))
    size = vectors.generate(count, lambda q: part(shapes.load(lengths, q))[1])
    return window(x, dim, first, size)


def explicit_extents(x: Tensor, number: int) -> list[Mixed | None]:
    """Extents of an axis, with values for all dense levels but the one that a vector's size gives."""
    axis = x.nested_axis(number)
    first = x.layout.dims(number)[0]
    gives = axis.letters[1] in RAGGED
    return [
        build.value(x.extent(first + at)) if c == "d" and not (gives and at == 0) else extent
        for at, (c, extent) in enumerate(zip(axis.letters, axis.extents, strict=True))
    ]


def component_starts(x: Tensor, dim: int) -> ir.Value:
    """Where the components of a ragged dim start, by parent position."""
    return builders.starts(x.value, dim)


def component_lengths(x: Tensor, dim: int) -> ir.Value:
    """Lengths of the components of a ragged dim, by parent position."""
    return builders.lengths(x.value, dim, stored=True)


@overload
def wrapped(number: ir.Value, extent: Mixed) -> ir.Value: ...
@overload
def wrapped(number: Mixed, extent: Mixed) -> Mixed: ...
def wrapped(number: Mixed, extent: Mixed) -> Mixed:
    """A number, known or index or i64, that counts from the end when it is negative."""
    if isinstance(number, int):
        return number if number >= 0 else build.add(extent, number)
    negative = compare("lt", number, build.constant(number.type, 0))
    size = build.value(extent) if isinstance(number.type, ir.IndexType) else build.to_i64(extent)
    return select(negative, arith.addi(number, size), number)


def filler(fill: Tensor, dtype: DType) -> ir.Value:
    """The number that stands for no element. RuntimeCheckError for one that the dtype does not hold."""
    if fill.weak:
        fill.trace.number_fits(fill, dtype)
    return convert(fill.scalar, fill.dtype, dtype)


def as_index(number: Tensor, what: str = "an index") -> ir.Value:
    """An integer as an MLIR value of type index. ArgumentError for another number, which is no `what`."""
    if number.dtype.kind != "i":
        raise ArgumentError(f"{number.trace.op}: expected an integer as {what}, got {number.described}")
    return build.to_index(convert(number.scalar, number.dtype, INT64))


def as_bound(number: Tensor) -> Mixed:
    """A bound of a slice, known where the trace knows it."""
    return number.constant if isinstance(number.constant, int) else as_index(number)


def static_extent(number: Tensor) -> int | None:
    """A number as an extent that types have, where the trace knows it; another one is checked when it runs."""
    return number.constant if isinstance(number.constant, int) and number.constant > 0 else None


def from_ends(size: Mixed, number: Callable[[ir.Value], ir.Value], extent: Callable[[ir.Value], Mixed]) -> ir.Value:
    """A vector of numbers, i64, of which those below 0 count from the end. They are not checked yet and stay i64: in a
    kernel, an index may have 32 bits, which numbers far out of range would fit into again."""
    return vectors.generate(size, lambda i: wrapped(number(i), extent(i)))


def check_largest(
    x: Tensor,
    dim: int,
    largest: ir.Value,
    extent: Callable[[ir.Value], Mixed],
    count: Callable[[ir.Value], Mixed],
    kind: str = "position",
) -> None:
    """IndexError, when it runs, where the largest of the `count(p)` indices of a component, as numbers without a sign,
    is outside of its `extent(p)`. Of no indices it is 0."""

    def bound(p: ir.Value) -> ir.Value:
        size = extent(p)
        return build.to_i64(
            arith.select(build.equal(count(p), 0), build.value(build.maximum(size, 1)), build.value(size))
        )

    bounds = vectors.generate(shapes.dim(largest, 0), bound)
    builders.assert_valid([largest, bounds], kind, x.trace.op, dim)


def check_lists(
    index: Tensor,
    beside: Sequence[tuple[Tensor, Sequence[int]]],
    place: Callable[[list[ir.Value]], ir.Value],
    extent: Callable[[ir.Value], Mixed],
    kind: str = "position",
) -> None:
    """`check_largest` of lists of indices, or of as many for each component, each of which is a `place` by what it is
    and what is beside it."""
    if not beside and index.trace.device == "cpu":
        index = _suspected(index, place, extent(build.value(0)))
    parents = [PlainAxis(None)]
    zeros = shapes.fill(build.constant(build.i64(), 0), empty(parents, [(index, 0)], INT64))
    loops = range(index.ndim)
    (largest,) = compute(
        index.trace, [(index, loops), *beside], [(zeros, INT64, parents, (0,))], len(loops), frozenset(loops[1:]),
        lambda given: [arith.maxui(given[-1], place(given))],
    )  # fmt: skip
    lengths = None if index.is_dense else builders.lengths(index.value, 1)

    def count(p: ir.Value) -> Mixed:
        return index.extent(1) if lengths is None else shapes.load(lengths, p)

    check_largest(index, 1, largest.storage, extent, count, kind)


def _suspected(index: Tensor, place: Callable[[list[ir.Value]], ir.Value], extent: Mixed) -> Tensor:
    """Lists of indices that have one extent, or none of these where all are inside: the largest one of all takes a
    fifth of the time of those of short lists (Zen 5). On a GPU the host would wait for it."""
    storage = shapes.cast(index.storage, dense_type((None,), index.storage.type.element_type))
    flat = Tensor(index.trace, storage, index.dtype, (PlainAxis(None),))
    zero = shapes.fill(build.constant(build.i64(), 0), empty([], [], INT64))
    (largest,) = compute(
        index.trace, [(flat, (0,))], [(zero, INT64, [], ())], 1, frozenset({0}),
        lambda given: [arith.maxui(given[-1], place(given))],
    )  # fmt: skip
    outside = build.not_below(largest.scalar, build.to_i64(extent))
    axis = index.nested_axis()
    count = build.value(arith.select(outside, vectors.count(axis.vectors[0]), build.value(0)))
    offsets = vectors.section(axis.vectors[0], 0, build.add(count, 1))
    return with_axis(index, 0, NestedAxis("dr", [offsets], [None, None]))


def clamped(bound: Mixed, extent: Mixed) -> Mixed:
    """A bound of a slice as Python reads it: from the end when negative, moved into [0, extent]."""
    return build.minimum(build.maximum(wrapped(bound, extent), 0), extent)


def take_components(x: Tensor, at: ir.Value) -> Tensor:
    """The components of the first dim at positions `at`, of a nested axis: windows, a view."""
    axis = x.nested_axis()
    level = next(k for k, c in enumerate(axis.letters) if c in RAGGED)
    count = shapes.dim(at, 0)
    starts, lengths = component_starts(x, level), component_lengths(x, level)
    if level > 1:
        at = inside_rows(at, build.value(build.product(x.extent(dim) for dim in range(1, level))))
    made = window(x, level, vectors.gather(starts, at), vectors.gather(lengths, at))
    if level > 1:
        taken = made.nested_axis()
        taken.extents[0] = build.value(count)
        made = with_axis(made, 0, taken)
    return made


def inside_rows(at: ir.Value, inner: ir.Value) -> ir.Value:
    """The positions of all elements of dense rows at positions `at`."""

    def position(i: ir.Value) -> Mixed:
        return build.add(build.mul(shapes.load(at, arith.divui(i, inner)), inner), arith.remui(i, inner))

    return vectors.generate(build.mul(shapes.dim(at, 0), inner), position)


def take_rows(x: Tensor, number: int, at: ir.Value, axis: Axis) -> Tensor:
    """Storage rows along an axis at positions `at`, under an axis of their own: a copy."""
    return take_blocks(x, number, at, [shapes.dim(at, 0)], [axis])


def take_blocks(x: Tensor, number: int, at: ir.Value, own: Sequence[Mixed], axes_: Sequence[Axis]) -> Tensor:
    """Storage rows along an axis at positions `at`, which are those of storage of several axes, one after the other:
    a copy under these axes, whose extents are `own`."""
    storage = x.storage_sizes()
    sizes = [*storage[:number], *own, *storage[number + 1 :]]
    loops = range(number, number + len(own))
    source = x.storage
    element = element_type(x.dtype)
    axes = [*x.axes[:number], *axes_, *x.axes[number + 1 :]]
    static = shape_of(axes).storage_shape()
    init = shapes.cast(
        shapes.empty([s if e is None else e for s, e in zip(sizes, static, strict=True)], element),
        dense_type(static, element),
    )

    def row(indices: list[ir.Value]) -> ir.Value:
        place: Mixed = 0
        for size, loop in zip(own, loops, strict=True):
            place = build.add(build.mul(place, size), indices[loop])
        indices[loops.start : loops.stop] = [shapes.load(at, place)]
        return tensor.extract(source, indices)

    return x.trace.assembled(generic.generated(init, row).result, axes, x.dtype)


def looked_up(x: Tensor, number: int, at: Tensor) -> Tensor:
    """Rows of a plain axis of dense storage by indices of some structure, which count from the end where negative and
    are checked, as a loop over these: what reads the result may be fused with it."""
    before, after = range(number), range(number + 1, x.ndim)
    axes = [*x.axes[:number], *at.axes, *x.axes[number + 1 :]]
    levels = [*((x, dim) for dim in before), *((at, dim) for dim in range(at.ndim)), *((x, dim) for dim in after)]
    own = range(number, number + at.ndim)

    def body(elements: list[ir.Value]) -> list[ir.Value]:
        loops = [loop_index(dim) for dim in range(len(levels)) if dim not in own]
        row = build.to_index(wrapped(convert(elements[0], at.dtype, INT64), x.extent(number)))
        return [tensor.extract(x.storage, [*loops[:number], row, *loops[number:]])]

    out = empty(axes, levels, x.dtype)
    outs = [(out, x.dtype, axes, range(len(levels)))]
    return compute(x.trace, [(at, own)], outs, len(levels), frozenset(), body)[0]


def row_ids(x: Tensor, axis: NestedAxis) -> ir.Value:
    """The component of every element of an axis without windows, by position."""
    return builders.row_ids(x.trace.nothing_of(axis, row_count(x, axis)), len(axis.letters) - 1)


def row_count(x: Tensor, axis: NestedAxis) -> Mixed:
    """How many elements an axis without windows has: of one of `x` what is stored, which a GPU knows without looking
    into its memory."""
    number = next((k for k, own in enumerate(x.axes) if own is axis), None)
    return vectors.last(axis.vectors[-1]) if number is None else x.storage_sizes()[number]


def slice_bounds(extent: Mixed, start: Mixed | None, stop: Mixed | None, step: int) -> tuple[Mixed, Mixed]:
    """First index and size of a Python slice of an extent; None for a bound left out."""
    if step > 0:
        low = 0 if start is None else clamped(start, extent)
        high = extent if stop is None else clamped(stop, extent)
        span = build.maximum(build.sub(high, low), 0)
        return low, build.ceildiv(span, step)
    last = build.sub(extent, 1)
    low = last if start is None else build.minimum(build.maximum(wrapped(start, extent), -1), last)
    high = -1 if stop is None else build.minimum(build.maximum(wrapped(stop, extent), -1), last)
    span = build.maximum(build.sub(low, high), 0)
    return low, build.ceildiv(span, -step)


def kept(x: Tensor, number: int, mask: ir.Value, axis: Axis) -> Tensor:
    """Storage rows along an axis where a vector of booleans is true, under an axis of their own: a copy."""
    if number:
        return take_rows(x, number, builders.compress(mask), axis)
    axes = [axis, *x.axes[1:]]
    storage = builders.compress(mask, x.storage)
    return x.trace.assembled(shapes.cast(storage, storage_type(shape_of(axes), element_type(x.dtype))), axes, x.dtype)


def kept_offsets(mask: Tensor) -> ir.Value:
    """Offsets of what a ragged mask without windows keeps of its innermost lists."""
    axis = mask.nested_axis()
    lists = mask.trace.assembled(mask.storage, [NestedAxis("dr", axis.vectors[-1:], [None, None])], mask.dtype)
    return vectors.scan(OPERATIONS["sum"](lists, axis=1).storage)


def repeated_rows(x: Tensor, size: Mixed, count: Callable[[ir.Value], ir.Value]) -> tuple[ir.Value, ir.Value]:
    """How many rows there are before each position (one entry more) where position i has `count(i)`, an i64, and the
    position of each: the rows of lists of as many elements."""
    before = vectors.running(size, count)
    return before, builders.row_ids(x.trace.nothing_of(NestedAxis("dr", [before], [None, None])), 1)


def inverse(order: ir.Value) -> ir.Value:
    """Where each position is in an order of all, in which none is twice."""
    size = build.value(shapes.dim(order, 0))
    return known(builders.scatter_add(vectors.generate(size, lambda k: k), order, size, unique=True))
