"""Indexing as NumPy's, where every component counts like a list of its own.

`x[i]`, slices with any step, `...`, `None`; an array of integers or booleans on one dim; a ragged
array of booleans keeps elements of every component, one of integers picks them.
"""

from __future__ import annotations

import functools
import math
from typing import Any, SupportsIndex, cast

import numpy as np

from ragged_dialect import builders
from ragged_dialect._mlir import ir, tensor
from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.arguments import check_untiled, integer
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.index.dims import dim_of, insert_ones, restored
from ragged_dialect.arrays.index.gather import boolean_mask, gather, stepped
from ragged_dialect.arrays.index.levels import structured
from ragged_dialect.arrays.index.reorder import pick_each, pick_pairs, take_dense
from ragged_dialect.arrays.index.rows import (
    as_bound,
    as_index,
    check_lists,
    clamped,
    component_lengths,
    component_starts,
    from_ends,
    kept_rows,
    looked_up,
    slice_bounds,
    take_blocks,
    take_components,
    take_rows,
    window,
    wrapped,
)
from ragged_dialect.arrays.tracing.agreement import batch_extent, equal_extents
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.elements import BOOL, INT64, convert
from ragged_dialect.arrays.tracing.leaves import is_dense
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import known
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError, AxisError, LayoutError
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED
from ragged_dialect.narrowing import is_integer, is_tuple


def getitem(x: Any, index: object) -> Any:
    """`x[index]`. IndexError for too many indices or one out of range."""
    given = tuple(map(_number, index)) if is_tuple(index) else (index,)
    items = _expanded(x, given)
    traced = [k for k, item in enumerate(items) if type(item) is Tensor and not item.axes and item.dtype.kind == "i"]
    arrays = [k for k, item in enumerate(items) if _is_array(item) and k not in traced] if len(given) > 1 else []
    if arrays:
        ellipsis = next((k for k, item in enumerate(given) if item is Ellipsis), None)
        _refuse_apart(items, arrays, ellipsis if len(items) < len(given) else None)
    if len(traced) > 1 or (traced and arrays):  # numbers of a program, one after the other
        return _by_numbers(x, items, traced, arrays)
    pattern: list[Any] = []
    leaves: list[Any] = []
    for item in items:
        if item is None:
            pattern.append("new")
        elif isinstance(item, slice):
            pattern.append(_slice_pattern(cast("slice", item), leaves))
        elif is_integer(item) and not isinstance(item, bool):
            pattern.append("one")
            leaves.append(int(item))
        else:
            pattern.append("array")
            leaves.append(np.zeros(0, INT64) if isinstance(item, list) and not item else item)
    if pattern[:2] == ["array", "array"] and all(map(_is_vector, leaves[:2])):
        pattern[:2] = ["pairs"]
    if pattern.count("array") + pattern.count("pairs") > 1:
        raise ArgumentError(_ONE_ARRAY)
    return _getitem(x, *leaves, pattern=tuple(pattern))


_ONE_ARRAY = (
    "getitem: expected one array among the indices, or vectors of integers for the first two dims, got others "
    "(of a table t[i, j] is rg.take_along_axis(rg.take(t, i), j[..., None], axis=-1)[..., 0])"
)


def _number(item: object) -> object:
    """An item, which is a number if it is an array of one."""
    return int(item) if type(item) is np.ndarray and not item.ndim and item.dtype.kind in "iu" else item


def _is_array(item: object) -> bool:
    """Whether an index is neither a number nor a slice."""
    return not (item is None or isinstance(item, slice) or (is_integer(item) and not isinstance(item, bool)))


def _refuse_apart(items: list[object], arrays: list[int], ellipsis: int | None) -> None:
    """ArgumentError where a slice, or `...` that is at a place but stands for none, is between a number and an array,
    and NumPy puts the array's dims in front: here each item is at the dim that is its turn."""
    numbers = [k for k, item in enumerate(items) if item is not None and not isinstance(item, slice)]
    kept = [k for k in range(len(items)) if k not in numbers]
    apart = kept if ellipsis is None else [*kept, ellipsis - 0.5]
    if arrays and kept and kept[0] < arrays[0] and any(numbers[0] < k < numbers[-1] for k in apart):
        text = "expected no slice between a number and an array among the indices, got one (use them one by one)"
        raise ArgumentError(f"getitem: {text}")


def _by_numbers(x: ArrayLike, items: list[object], traced: list[int], arrays: list[int]) -> ArrayLike:
    """`x[items]` where some are traced numbers. Those of dense arrays are taken from the last one on; components have
    lengths of their own: what is in front of a number chooses them first."""
    whole, k = slice(None), traced[0]
    front = next((at for at, item in enumerate(items) if at not in traced and not is_integer(item)), len(items))
    if front:
        return getitem(functools.reduce(getitem, items[:front], x), tuple(items[front:]))
    if x.layout.is_dense:
        for at in reversed(traced):
            x = getitem(x, (*[whole] * _dims_of(x, items[:at]), items[at]))
        return getitem(x, tuple(item for at, item in enumerate(items) if at not in traced))
    if all(isinstance(item, slice) and item == whole for item in items[:k]):
        return getitem(getitem(x, (*items[:k], items[k])), (*items[:k], *items[k + 1 :]))
    if arrays and arrays[0] < k < arrays[-1]:
        raise ArgumentError(_ONE_ARRAY)
    left = x.ndim - _dims_of(x, items[:k])
    x = getitem(x, tuple(items[:k]))
    return getitem(x, (*[whole] * (x.ndim - left), *items[k:]))


def _dims_of(x: RaggedArray | Tensor, items: list[object]) -> int:
    """How many dims the first items of an index stand for."""
    return sum(_dims_used(x, item, number == 0) for number, item in enumerate(items))


def _is_vector(item: Any) -> bool:
    """Whether an index is a dense vector of integers."""
    if isinstance(item, (RaggedArray, Tensor)):
        return item.layout.is_dense and item.ndim == 1 and item.dtype.kind == "i"
    given = storage.peek(item) if is_dense(item) else storage.take(item)
    return given.ndim == 1 and given.dtype.kind == "i"


def _slice_pattern(item: slice, leaves: list[Any]) -> Any:
    step = 1 if item.step is None else integer("getitem", "a step", item.step)
    if step == 0:
        raise ArgumentError("getitem: expected a step other than 0, got 0")
    bounds = [item.start, item.stop]
    leaves += [b if isinstance(b, Tensor) else _bound(b) for b in bounds if b is not None]
    # steps beyond every component are alike, and the least number has no opposite
    return ("slice", item.start is not None, item.stop is not None, max(step, 1 - 2**63))


def _bound(given: SupportsIndex) -> int:
    if getattr(given, "ndim", 0):
        hint = "x[rg.local_index(x) < stops[:, None]] has one for each component"
        raise ArgumentError(f"getitem: expected an integer for a bound, got an array ({hint})")
    return integer("getitem", "a bound", given)


def _expanded(x: RaggedArray | Tensor, items: tuple[object, ...]) -> list[object]:
    """The items with `...` replaced by whole slices."""
    rank, used = x.ndim, sum(_dims_used(x, item, item is items[0]) for item in items)
    if used > rank:
        raise AxisError(f"getitem: expected indices of at most {rank} dims, got {used}")
    at = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(at) > 1:
        raise ArgumentError("getitem: expected at most one ellipsis, got more")
    if not at:
        return list(items)
    return [*items[: at[0]], *[slice(None)] * (rank - used), *items[at[0] + 1 :]]


def _dims_used(x: RaggedArray | Tensor, item: object, is_first: bool) -> int:
    """How many dims of `x` an item stands for: a mask for its own, and a ragged index of the components' elements too;
    other indices look up one dim, whatever their rank."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, (RaggedArray, Tensor)):
        gathers = is_first and not item.layout.is_dense and not x.layout.is_plain(0)
        return item.ndim if item.dtype == BOOL or gathers else 1
    return storage.peek(item).ndim if is_dense(item) and storage.peek(item).dtype.kind == "b" else 1


@operation("getitem")
def _getitem(x: Tensor, *leaves: Tensor, pattern: tuple[Any, ...]) -> Tensor:
    """The items of an index one after the other, each at the dim that is its turn."""
    given = iter(leaves)
    dim = 0
    for item in pattern:
        if item == "new":
            x = insert_ones(x, [dim])
            dim += 1
        elif item == "one":
            x = pick(x, dim, as_index(next(given)))
        elif item == "pairs":
            x = _pairs(x, next(given), next(given))
            dim += 1
        elif item == "array":
            x, used = _by_array(x, dim, next(given))
            dim += used
        else:
            _, has_start, has_stop, step = item
            start = as_bound(next(given)) if has_start else None
            stop = as_bound(next(given)) if has_stop else None
            x = slice_dim(x, dim, start, stop, step)
            dim += 1
    return x


def pick(x: Tensor, dim: int, index: ir.Value) -> Tensor:
    """One index of a dim, from the end when negative."""
    if x.layout.letter(dim) in RAGGED:
        return _pick_rows(x, dim, index)
    extent = build.value(x.extent(dim))
    at = wrapped(index, extent)
    builders.assert_valid([at, extent], "position", x.trace.op, dim)
    return structured(x, builders.select(x.value, at, dim))


def _pick_rows(x: Tensor, dim: int, index: ir.Value) -> Tensor:
    """One row of every component: the first of windows that begin there. Components that no window above shows may
    have none."""
    shown = builders.lengths(x.value, dim)
    at = vectors.generate(shapes.dim(shown, 0), lambda k: wrapped(index, shapes.load(shown, k)))
    builders.assert_valid([at, shown], "position", x.trace.op, dim)
    lengths, starts = component_lengths(x, dim), component_starts(x, dim)
    count = shapes.dim(lengths, 0)
    row = vectors.generate(count, lambda q: clamped(index, shapes.load(lengths, q)))
    first = vectors.generate(count, lambda q: build.add(shapes.load(starts, q), shapes.load(row, q)))
    size = vectors.generate(count, lambda q: build.minimum(build.sub(shapes.load(lengths, q), shapes.load(row, q)), 1))
    rows = window(x, dim, first, size)
    return structured(rows, known(builders.select(rows.value, build.value(0), dim)))


def slice_dim(x: Tensor, dim: int, start: Mixed | None, stop: Mixed | None, step: int) -> Tensor:
    """A Python slice of a dim: a view where a ragged dim or a batch is cut by step 1. Of known bounds of a known extent
    the extent is known."""
    if start is None and stop is None and step == 1:
        return x
    if x.layout.letter(dim) in RAGGED:
        return _slice_rows(x, dim, start, stop) if step == 1 else stepped(x, dim, start, stop, step)
    extent = x.extent(dim)
    low, size = slice_bounds(extent, start, stop, step)
    if step != 1:
        at = vectors.generate(size, lambda i: build.add(low, build.mul(i, step)))
        return take_at(x, dim, at, size if isinstance(size, int) else None)
    static = size if isinstance(size, int) and x.nested(dim) is None else None
    high = build.add(low, size)
    return structured(x, known(builders.slice(x.value, build.value(low), build.value(high), dim, static)))


def _slice_rows(x: Tensor, dim: int, start: Mixed | None, stop: Mixed | None) -> Tensor:
    lengths, starts = component_lengths(x, dim), component_starts(x, dim)
    count = shapes.dim(lengths, 0)
    low = vectors.generate(count, lambda q: build.value(slice_bounds(shapes.load(lengths, q), start, stop, 1)[0]))
    size = vectors.generate(count, lambda q: slice_bounds(shapes.load(lengths, q), start, stop, 1)[1])
    first = vectors.generate(count, lambda q: build.add(shapes.load(starts, q), shapes.load(low, q)))
    return window(x, dim, first, size)


def take_at(x: Tensor, dim: int, at: ir.Value, extent: int | None = None) -> Tensor:
    """Indices of a dense dim by a vector that is in range, whose extent may be known. LayoutError for the tiles of a
    split."""
    number, level = x.place(dim)
    if isinstance(x.axes[number], PlainAxis):
        return take_rows(x, number, at, PlainAxis(extent))
    check_untiled(x.trace.op, x.layout)
    return take_dense(x, dim, at) if number > 0 or level > 0 else take_components(x, at)


def _by_array(x: Tensor, dim: int, index: Tensor) -> tuple[Tensor, int]:
    """An array index: what is left, and how many dims of it are done."""
    if index.dtype == BOOL:
        return _by_mask(x, dim, index)
    if index.dtype.kind != "i":
        raise ArgumentError(f"{x.trace.op}: expected indices of integers or booleans, got {index.dtype}")
    if index.is_dense and index.ndim == 0:
        return pick(x, dim, as_index(index)), 0
    if index.is_dense and index.ndim == 1 and x.layout.letter(dim) not in RAGGED:
        at = _checked(x, dim, index)
        return (looked_up(x, dim, index) if x.is_dense else take_at(x, dim, at)), 1
    if index.is_dense and index.ndim == 1:
        given = shapes.as_vector(index.storage)
        x = contiguous(x)
        return pick_each(
            x, dim, lambda _, k: tensor.extract(given, [k]), shapes.dim(given, 0), index.static_shape[0]
        ), 1
    if isinstance(x.axes[x.place(dim)[0]], PlainAxis):
        return _blocks(x, dim, contiguous(index)), index.ndim
    if not index.is_dense and dim == 0:
        return gather(x, index), index.ndim
    raise LayoutError(
        f"{x.trace.op}: expected a vector, or a ragged index on dim 0, got rank {index.ndim} on "
        f'dim {dim} of layout "{x.layout}" (rg.gather and np.take_along_axis pick from each component)'
    )


def _pairs(x: Tensor, rows: Tensor, places: Tensor) -> Tensor:
    """Element `places[k]` of component `rows[k]`, as NumPy pairs indices of neighbouring dims."""
    equal_extents((rows, 0), (places, 0), 0)
    at = _checked(x, 0, rows)
    if x.layout.is_plain(0) and x.layout.is_plain(1):
        x, places_ = contiguous(x), _checked(x, 1, places)
        extent, groups = x.extent(1), [[0, 1], *([k] for k in range(2, len(x.axes)))]
        flat = restored(x, groups, [PlainAxis(None), *x.axes[2:]], expand=False)
        place = vectors.generate(
            shapes.dim(at, 0), lambda k: build.add(build.mul(shapes.load(at, k), extent), shapes.load(places_, k))
        )
        return take_rows(flat, 0, place, PlainAxis(rows.static_shape[0]))
    if x.layout.letter(1) not in RAGGED:
        text = f'expected one array among the indices where dim 1 is not ragged, got 2 for layout "{x.layout}"'
        raise LayoutError(f"{x.trace.op}: {text}")
    return pick_pairs(x, at, shapes.as_vector(places.storage))


def _blocks(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """Rows of a plain dim by an index of any structure, in its place (NumPy's `table[ids]`)."""
    sizes = index.storage_sizes()
    if len(sizes) == 1:
        vector = index
    else:
        known = all(isinstance(size, int) for size in sizes)  # what is unknown may be 0 times as well
        plain = PlainAxis(math.prod(size for size in sizes if isinstance(size, int)) if known else None)
        vector = restored(index, [list(range(len(sizes)))], [plain], expand=False)
    if str(index.layout) == "dr":
        _check_of_components(x, dim, index)
    else:
        _checked(x, dim, vector)
    if x.is_dense and not any(isinstance(axis, NestedAxis) and "t" in axis.letters for axis in index.axes):
        return looked_up(x, dim, index)
    return take_blocks(x, x.place(dim)[0], _from_ends(x, dim, vector), sizes, index.axes)


def _check_of_components(x: Tensor, dim: int, index: Tensor) -> None:
    """Lists of indices of a dense dim, checked when it runs: errors name the component."""
    extent = build.value(x.extent(dim))

    def place(given: list[ir.Value]) -> ir.Value:
        return build.value(wrapped(convert(given[0], index.dtype, INT64), extent))

    check_lists(index, [], place, lambda _: extent)


def _checked(x: Tensor, dim: int, index: Tensor) -> ir.Value:
    """A vector of indices of a dense dim, counted from the end where negative; checked when it runs."""
    at = _from_ends(x, dim, index)
    builders.assert_valid([at, build.value(x.extent(dim))], "position", x.trace.op, dim)
    return at


def _from_ends(x: Tensor, dim: int, index: Tensor) -> ir.Value:
    extent, given = build.value(x.extent(dim)), shapes.as_vector(index.storage)
    return from_ends(shapes.dim(given, 0), lambda i: tensor.extract(given, [i]), lambda _: extent)


def _by_mask(x: Tensor, dim: int, mask: Tensor) -> tuple[Tensor, int]:
    if not mask.is_dense and dim == 0:
        return boolean_mask(x, mask), mask.ndim
    if mask.is_dense and mask.ndim == 1 and x.layout.letter(dim) not in RAGGED:
        if x.layout.is_plain(dim):
            equal_extents((x, dim), (mask, 0), dim)
        else:
            batch_extent((mask, 0), (x, dim), dim)
        return take_at(x, dim, kept_rows(mask)[1]), 1
    raise LayoutError(
        f"{x.trace.op}: expected a vector on a dense dim, or a ragged mask on dim 0, "
        f'got dim {dim} of layout "{x.layout}"'
    )


@operation("take")
def take(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    """Indices of a dense dim by a vector of integers: components of a batch, or columns. A dim without raggedness takes
    integers of any structure, which the result has in its place: `rg.take(table, ids)` has a row of the table for every
    id of a ragged array of ids. Of lists, an array of lists of ids takes elements of the same component, as `gather`
    does."""
    return _by_array(x, dim_of(x, axis), indices)[0]


__all__ = ["getitem", "pick", "slice_dim", "take", "take_at"]
