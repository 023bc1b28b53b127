"""Elements, or inner lists, of every component: by a mask, by a ragged or dense index, in steps, in parts."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.arrays.index.reorder import pick_each, positions_of, rearranged, relaid, rows_by_component
from ragged_dialect.arrays.index.rows import (
    check_lists,
    component_lengths,
    component_starts,
    explicit_extents,
    filler,
    kept,
    kept_offsets,
    ragged_level,
    row_ids,
    slice_bounds,
    wrapped,
)
from ragged_dialect.arrays.tracing.agreement import batch_extent, equal_extents, equal_levels
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.elements import BOOL, INT64, convert
from ragged_dialect.arrays.tracing.loops import compute, empty
from ragged_dialect.arrays.tracing.operation import OPERATIONS, operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import contiguous, in_components, out_of_components
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED


def stepped(x: Tensor, dim: int, start: Mixed | None, stop: Mixed | None, step: int) -> Tensor:
    """Every `step`-th element, or inner list, of every component of a ragged dim, as Python slices. All of them turned
    round have the lengths that they had."""
    x = contiguous(x)
    lengths, starts = component_lengths(x, dim), component_starts(x, dim)
    count = shapes.dim(lengths, 0)
    first = vectors.generate(
        count,
        lambda q: build.add(shapes.load(starts, q), slice_bounds(shapes.load(lengths, q), start, stop, step)[0]),
    )
    level, axis = ragged_level(x, dim)[1:]
    is_whole = start is None and stop is None and step == -1
    if is_whole:
        offsets = axis.vectors[axis.letters[:level].count("r")]
    else:
        offsets = vectors.scan(
            vectors.generate(count, lambda q: slice_bounds(shapes.load(lengths, q), start, stop, step)[1])
        )
    made = axis if is_whole and level == len(axis.letters) - 1 else relaid(x, dim, offsets)

    def row(component: ir.Value, at: ir.Value) -> Mixed:
        return build.add(shapes.load(first, component), build.mul(at, step))

    return rows_by_component(x, dim, made, row)


def _leading(x: Tensor, other: Tensor) -> tuple[NestedAxis, NestedAxis]:
    """The first axis of `x`, and the one axis of a ragged index, whose levels are the leading ones of it."""
    axis, own = (t.axes[0] if t.axes else None for t in (other, x))
    if len(other.axes) != 1 or not isinstance(axis, NestedAxis) or not isinstance(own, NestedAxis):
        raise LayoutError(
            f'{x.trace.op}: expected a ragged index of one axis of a ragged array, got layout "{other.layout}" '
            f'on layout "{x.layout}"'
        )
    if not own.letters.startswith(axis.letters):
        raise LayoutError(f'{x.trace.op}: expected an index of leading levels of "{x.layout}", got "{other.layout}"')
    return own, axis


@operation("boolean_mask")
def boolean_mask(x: Tensor, mask: Tensor) -> Tensor:
    """The elements, or inner lists, of every component where a ragged mask of the same structure is true;
    components stay, also when nothing is left of them."""
    x, mask, dim = _masked(x, mask)
    number, level, axis = ragged_level(x, dim)
    head = relaid(x, dim, kept_offsets(mask))
    if level == len(axis.letters) - 1:
        return kept(x, number, mask.storage, head)
    return rearranged(x, dim, builders.compress(mask.storage), head)


@operation("split_before")
def split_before(x: Tensor, begins: Tensor) -> Tensor:
    """Every component cut in parts: one more ragged level, a view. A part begins at the first element of a component,
    and at each where `begins` is true, a ragged mask of the structure of the leading levels of `x`; what is empty has
    no parts. Runs of equal elements begin where `np.diff(x, axis=1, prepend=x[:, :1]) != 0`.

    >>> words = rg.ragged([[7, 7, 3, 3, 3], [], [5]])
    >>> rg.split_before(words, np.diff(words, axis=1, prepend=words[:, :1]) != 0).tolist()
    [[[7, 7], [3, 3, 3]], [], [[5]]]
    """
    x, begins, dim = _masked(x, begins)
    axis = x.nested_axis()
    first = OPERATIONS["equal"](OPERATIONS["local_index"](begins, axis=dim), 0)
    begins = OPERATIONS["logical_or"](begins, first)
    at = builders.compress(begins.storage)
    count, place = shapes.dim(at, 0), axis.letters[:dim].count("r")
    into = vectors.empty(build.add(count, 1))
    parts = tensor.insert(build.to_i64(shapes.dim(begins.storage, 0)), into, [count])
    parts = shapes.insert_slice(at, parts, [0], [count])
    extents = explicit_extents(x, 0)
    made = NestedAxis(
        f"{axis.letters[: dim + 1]}r{axis.letters[dim + 1 :]}",
        [*axis.vectors[:place], kept_offsets(begins), parts, *axis.vectors[place + 1 :]],
        [*extents[: dim + 1], None, *extents[dim + 1 :]],
    )
    return x.trace.assembled(x.storage, [made, *x.axes[1:]], x.dtype)


def _masked(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, int]:
    """An array and a mask of its leading levels, without windows, and the innermost dim of these."""
    if mask.dtype != BOOL:
        raise ArgumentError(f"{x.trace.op}: expected a mask of booleans, got {mask.described}")
    x, mask = contiguous(x), contiguous(mask)
    return x, mask, leading_level(x, mask)


def leading_level(x: Tensor, other: Tensor) -> int:
    """The innermost dim of a ragged array of one axis, which has the structure of the leading levels of `x`."""
    axis, theirs = _leading(x, other)
    x.trace.conform(axis, theirs)
    return len(theirs.letters) - 1


def levels_of(x: Tensor, dim: int, before: ir.Value) -> NestedAxis:
    """The levels down to a ragged dim, for whose rows there are so many others before each."""
    _, level, axis = ragged_level(x, dim)
    return relaid(x, dim, vectors.gather(before, axis.vectors[axis.letters[:level].count("r")]))


@operation("gather")
def gather(x: Tensor, index: Tensor, fill: Tensor | None = None) -> Tensor:
    """Element, or inner list, `index[b, i]` of component b, for a ragged array of integers with as many
    components, or `index[a, b, i]` of inner list b; a dense [B, K] picks K of every component. Counted from the
    end where negative. IndexError where one is out of range; with `fill`, a number, that is where there is none.

    >>> rg.gather(rg.ragged([[3, 1], [], [5]]), np.array([[0, -1, 1]] * 3), fill=-9)
    array([[ 3,  1,  1],
           [-9, -9, -9],
           [ 5,  5, -9]])
    """
    if index.dtype.kind != "i":
        raise ArgumentError(f"{x.trace.op}: expected indices of integers, got {index.described}")
    x, index = contiguous(x), contiguous(index)
    if fill is not None:
        return _filled(x, index, fill)
    if index.is_dense:
        return _gather_matrix(x, index)
    own, theirs = _leading(x, index)
    level = len(theirs.letters) - 1
    equal_levels(x, index, 0, level)
    if own.letters == "dr" and all(isinstance(axis, PlainAxis) for axis in x.axes[1:]):
        return _gathered_rows(x, index)
    positions = positions_of(x, level, row_ids(index, theirs), shapes.as_vector(index.storage))
    return rearranged(x, level, positions, relaid(x, level, theirs.vectors[-1]))


def gathered_features(x: Tensor, index: Tensor) -> Tensor:
    """Elements `index[b, i, f]` of each feature `x[b, :, f]` of the components of a ragged array without windows, of an
    index that is ragged as it, or dense, with as many for each component."""
    if index.is_dense:
        batch_extent((index, 0), (x, 0), 0)
    else:
        equal_levels(x, index, 0, 1)
    for dim in range(2, x.ndim):
        equal_extents((x, dim), (index, dim), dim)
    return _gathered_rows(x, index)


def _gathered_rows(x: Tensor, index: Tensor) -> Tensor:
    """Rows of each component by its indices, or elements by those of their own, as a loop over components, which may be
    fused with others. Of the indices of a component the largest one is checked, as a number without a sign."""
    lengths, starts = (
        Tensor(x.trace, vector, INT64, (PlainAxis(None),))
        for vector in (component_lengths(x, 1), component_starts(x, 1))
    )

    def place(given: list[ir.Value]) -> ir.Value:
        return build.value(wrapped(convert(given[0], index.dtype, INT64), given[1]))

    beside = [(lengths, (0,)), (starts, (0,))]
    check_lists(index, beside[:1], place, lambda b: shapes.load(lengths.storage, b))
    own = 2 if index.is_dense else 1
    axes, levels = [*index.axes[:own], *x.axes[1:]], [(index, 0), (index, 1), *((x, dim) for dim in range(2, x.ndim))]

    def row(given: list[ir.Value]) -> list[ir.Value]:
        at = build.to_index(arith.addi(place(given), given[2]))
        return [tensor.extract(x.storage, [at, *(loop_index(dim) for dim in range(2, x.ndim))])]

    out = (empty(axes, levels, x.dtype), x.dtype, axes, range(x.ndim))
    return compute(x.trace, [(index, range(index.ndim)), *beside], [out], x.ndim, frozenset(), row)[0]


def _filled(x: Tensor, index: Tensor, fill: Tensor) -> Tensor:
    """Elements by indices, or a number where there is none: windows of one element, or of none, padded."""
    if index.is_dense:
        _check_matrix(x, index)
        return out_of_components(_filled(x, in_components(index), fill), index)
    own, theirs = _leading(x, index)
    level = len(theirs.letters) - 1
    if own.letters != theirs.letters:
        raise LayoutError(f'{x.trace.op}: expected elements to fill, got lists below an index "{index.layout}" of them')
    equal_levels(x, index, 0, level)
    rows, at = row_ids(index, theirs), shapes.as_vector(index.storage)
    starts, lengths = component_starts(x, level), component_lengths(x, level)

    def part(q: ir.Value, there: Callable[[ir.Value, ir.Value], Mixed]) -> Mixed:
        """What is of the element in the place of index q, or 0."""
        component = shapes.load(rows, q)
        length = shapes.load(lengths, component)
        place = wrapped(shapes.load(at, q), length)
        inside = arith.cmpi(arith.CmpIPredicate.ult, place, length)
        return arith.select(inside, build.value(there(component, place)), build.value(0))

    count = shapes.dim(at, 0)
    first = vectors.generate(count, lambda q: part(q, lambda b, place: build.add(shapes.load(starts, b), place)))
    size = vectors.generate(count, lambda q: part(q, lambda _b, _place: 1))
    windows = x.trace.assembled(x.storage, [NestedAxis("dw", [first, size], [None, None]), *x.axes[1:]], x.dtype)
    made = builders.to_padded(windows.value, filler(fill, x.dtype), [build.value(1)], truncate=True)
    return x.trace.assembled(builders.select(made, build.value(0), 1), [*index.axes, *x.axes[1:]], x.dtype)


def _check_matrix(x: Tensor, index: Tensor) -> None:
    if index.ndim != 2 or x.is_dense or x.layout.letter(1) not in RAGGED:
        raise LayoutError(
            f"{x.trace.op}: expected a ragged index, or a dense one of rank 2 for one ragged dim below dim 0, "
            f'got rank {index.ndim} for layout "{x.layout}"'
        )
    batch_extent((index, 0), (x, 0), 0)


def _gather_matrix(x: Tensor, index: Tensor) -> Tensor:
    _check_matrix(x, index)

    def at(b: ir.Value, k: ir.Value) -> ir.Value:
        return convert(tensor.extract(index.storage, [b, k]), index.dtype, INT64)

    return pick_each(x, 1, at, index.extent(1), index.static_shape[1])
