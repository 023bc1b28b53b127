"""Indexing as NumPy's, where every component counts like a list of its own.

`x[i]`, slices with any step, `...`, `None`; an array of integers or booleans on one dim; a ragged
array of booleans keeps elements of every component, one of integers picks them.
"""

from __future__ import annotations

import math
from typing import Any

from ragged_dialect import builders
from ragged_dialect._mlir import ir, tensor
from ragged_dialect.arrays.core.arguments import check_untiled
from ragged_dialect.arrays.index.dims import dim_of, insert_ones, restored, with_joined
from ragged_dialect.arrays.index.gather import boolean_mask, gather, stepped
from ragged_dialect.arrays.index.levels import structured
from ragged_dialect.arrays.index.reorder import pick_each, pick_pairs, take_dense
from ragged_dialect.arrays.index.rows import (
    as_bound,
    as_index,
    check_lists,
    clamped,
    from_ends,
    kept,
    looked_up,
    narrowed,
    slice_bounds,
    take_blocks,
    take_components,
    take_rows,
    wrapped,
)
from ragged_dialect.arrays.tracing.agreement import batch_extent, equal_extents
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.elements import BOOL, INT64, convert
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import known
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED


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


@operation("select")
def select(x: Tensor, index: Tensor, *, axis: int) -> Tensor:
    """What is at one index of a dim, counted from its end when negative, without that dim. RangeError where it is out
    of range, also in one component."""
    if index.dtype.kind != "i" or index.ndim:
        hint = "take has a vector of them, gather one for every component"
        raise ArgumentError(f"select: expected one integer for index, got {index.described} ({hint})")
    return pick(x, dim_of(x, axis), as_index(index))


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

    def row(length: ir.Value) -> tuple[Mixed, Mixed]:
        place = clamped(index, length)
        return place, build.minimum(build.sub(length, place), 1)

    rows = narrowed(x, dim, row)
    return structured(rows, known(builders.select(rows.value, build.value(0), dim)))


def _is_front(start: Mixed | None) -> bool:
    return start is None or (isinstance(start, int) and start == 0)


def slice_dim(x: Tensor, dim: int, start: Mixed | None, stop: Mixed | None, step: int) -> Tensor:
    """A Python slice of a dim: a view where a ragged dim or a batch is cut by step 1. Of known bounds of a known extent
    the extent is known."""
    if start is None and stop is None and step == 1:
        return x
    if x.layout.letter(dim) in RAGGED:
        if step == 1:
            return narrowed(x, dim, lambda length: slice_bounds(length, start, stop, 1), _is_front(start))
        return stepped(x, dim, start, stop, step)
    extent = x.extent(dim)
    low, size = slice_bounds(extent, start, stop, step)
    if step != 1:
        at = vectors.generate(size, lambda i: build.add(low, build.mul(i, step)))
        return take_at(x, dim, at, size if isinstance(size, int) else None)
    static = size if isinstance(size, int) and x.nested(dim) is None else None
    high = build.add(low, size)
    return structured(x, known(builders.slice(x.value, build.value(low), build.value(high), dim, static)))


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
        extent, flat = x.extent(1), with_joined(x, 0, 2, PlainAxis(None))
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
            return kept(x, x.place(dim)[0], mask.storage, PlainAxis(None)), 1
        batch_extent((mask, 0), (x, dim), dim)
        return take_at(x, dim, builders.compress(mask.storage)), 1
    raise LayoutError(
        f"{x.trace.op}: expected a vector on a dense dim, or a ragged mask on dim 0, "
        f'got dim {dim} of layout "{x.layout}"'
    )


@operation("take")
def take(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    """The elements of a dense dim at the indices in a vector of integers: components of a batch, or columns. A dim
    without raggedness takes integers of any structure, which the result has in its place: `rg.take(table, ids)` has a
    row of the table for every id of a ragged array of ids. Of lists, an array of lists of ids takes elements of the
    same component, as `gather` does."""
    return _by_array(x, dim_of(x, axis), indices)[0]


__all__ = ["pick", "slice_dim", "take", "take_at"]
