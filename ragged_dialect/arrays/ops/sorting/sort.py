"""`sort` and `argsort`: the elements of every component, or of a dense dim, in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

from ragged_dialect import generic
from ragged_dialect._mlir import DYNAMIC, ir, tensor
from ragged_dialect.arrays.core.arguments import listed
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.index.dims import dim_of
from ragged_dialect.arrays.index.rows import component_starts, row_ids
from ragged_dialect.arrays.ops.reduce import source
from ragged_dialect.arrays.ops.sorting.columns import by_columns, have_columns
from ragged_dialect.arrays.ops.sorting.digits import by_digits
from ragged_dialect.arrays.ops.sorting.keys import KEYS, directed, key
from ragged_dialect.arrays.ops.sorting.merges import are_merged, by_merges, first_few, values_by_merges
from ragged_dialect.arrays.ops.sorting.ranks import are_few, by_ranks
from ragged_dialect.arrays.tracing.agreement import equal_structures
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.elements import INT64, constant, kind
from ragged_dialect.arrays.tracing.loops import mapped
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import element_type
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.match import definer
from ragged_dialect.iteration import AT_LOOPS
from ragged_dialect.layout import RAGGED
from ragged_dialect.types import vector_type

_FEW_COLUMNS = 8
"""Columns of which vectors have too few to compare rows: columns are sorted one by one, however short they are."""

_PAIRS_OF_VALUES, _PAIRS_OF_INDICES = 12, 64
"""Pairs for each element up to which components of rows are compared, and not sorted as lists of columns. On one thread
of a Zen 4, 1,600,000 float32 in rows of 16 and of 64 take 3.4 and 3.9 ms with 10 elements in a component, and 5.0 and
5.6 as columns, with 24 5.9 and 6.1, and 4.8 and 5.5; their indices 8.9 and 7.5 with 48, and 11 and 10 as columns, with
100 18 and 14, and 12 and 11. By digits they take 30 to 40, which is what is left for GPUs and for rows of no known
extent."""


@operation("sort")
def sort(x: Tensor, *, axis: int = -1, descending: bool = False) -> Tensor:
    """The elements along an innermost ragged dim or a dense one in ascending order, every component by itself. Equal
    ones stay in order, but -0.0 may be put before 0.0; nan is larger than all, as in `np.sort`. The values have a
    gradient, which goes where they are from. LayoutError for a dim above a ragged one.

    >>> rg.sort(rg.ragged([[3.0, 1.0, 2.0], [], [5.0, 4.0]]), axis=1).tolist()
    [[1.0, 2.0, 3.0], [], [4.0, 5.0]]
    """
    x = source(x)
    return ordered(x, dim_of(x, axis), descending)


@operation("argsort")
def argsort(x: Tensor, *, axis: int = -1, descending: bool = False) -> Tensor:
    """The indices that sort, int64, as `sort` has the elements: `x[rg.argsort(x, axis=1)]` is `rg.sort(x, axis=1)` of
    lists of numbers.

    >>> rg.argsort(rg.ragged([[3.0, 1.0, 2.0], [], [5.0, 4.0]]), axis=1).tolist()
    [[1, 2, 0], [], [1, 0]]
    """
    x = source(x)
    return sorting(x, dim_of(x, axis), descending)


def lexsort(keys: ArrayLike, *, axis: int = -1) -> ArrayLike:
    """The indices that sort by several keys, int64: by the last one, where that is equal by the one before it, and so
    on, as `np.lexsort` has it of each component. Keys have one structure.

    >>> day, hour = rg.ragged([[2, 1, 1], [], [4]]), rg.ragged([[5, 9, 8], [], [1]])
    >>> rg.lexsort([hour, day]).tolist()
    [[2, 1, 0], [], [0]]
    """
    given = listed("lexsort", "keys", keys)
    if not given:
        raise ArgumentError("lexsort: expected at least one key, got none")
    return _lexsort(*given, axis=axis)


@operation("lexsort")
def _lexsort(*keys: Tensor, axis: int) -> Tensor:
    first, *rest = map(source, keys)
    dim = dim_of(first, axis)
    for other in rest:
        equal_structures(first, other)
    order = sorting(first, dim, descending=False)
    for other in rest:
        order = taken(order, dim, sorting(taken(other, dim, order), dim, descending=False))
    return order


def ordered(x: Tensor, dim: int, descending: bool) -> Tensor:
    """The elements along a dim in order: with their indices only where a derivative needs them."""
    check_sorted(x, dim)
    if x.static_shape[dim] == 1:
        return x
    has_derivatives = x.trace.has_derivatives and kind(x.dtype) == "f"
    if are_merged(x, dim) and not has_derivatives:
        return values_by_merges(x, dim, descending)
    if have_columns(x, dim) and not has_derivatives:
        columns = partial(by_columns, x, lambda lists: values_by_merges(lists, 1, descending))
        ranks = partial(_by_ranks, x, dim, descending)
        return _of_rows(x, x.dtype, _PAIRS_OF_VALUES, lambda: taken(x, dim, ranks()), columns, None)
    return taken(x, dim, sorting(x, dim, descending))


def check_sorted(x: Tensor, dim: int) -> None:
    """LayoutError for a dim that has others below, whose elements have no order."""
    number, level = x.place(dim)
    axis = x.axes[number]
    ragged = isinstance(axis, NestedAxis) and level == len(axis.letters) - 1 and axis.letters[level] in RAGGED
    if not ragged and not isinstance(axis, PlainAxis):
        text = f'expected an innermost ragged dim, or a dense one of its own, got dim {dim} of layout "{x.layout}"'
        raise LayoutError(f"{x.trace.op}: {text}")


def sorting(x: Tensor, dim: int, descending: bool, limit: int | None = None) -> Tensor:
    """The indices along a dim that sort its elements, int64, or the first few: on a CPU by merges, of components of
    rows column by column, else by ranks where components are short and by digits where they are not."""
    check_sorted(x, dim)
    if x.static_shape[dim] == 1:
        return mapped(x, [], INT64, lambda _: constant(INT64, 0))
    if are_merged(x, dim):
        return by_merges(x, dim, descending, limit)
    if have_columns(x, dim):
        columns = partial(by_columns, x, lambda lists: by_merges(lists, 1, descending, limit))
        ranks = partial(_by_ranks, x, dim, descending)
        return _of_rows(x, INT64, _PAIRS_OF_INDICES, lambda: first_few(ranks(), dim, limit), columns, limit)
    return first_few(_by_ranks_or_digits(x, dim, descending), dim, limit)


def _of_rows(
    x: Tensor,
    dtype: DType,
    pairs: int,
    by_ranks: Callable[[], Tensor],
    by_columns: Callable[[], Tensor],
    limit: int | None,
) -> Tensor:
    """What components of rows have, or the first few of each, in a dtype: by ranks where they are short, else by
    columns."""
    if prod(extent or 1 for extent in x.static_shape[2:]) < _FEW_COLUMNS:
        return by_columns()
    type_ = ir.RankedTensorType.get([DYNAMIC, *x.storage.type.shape[1:]], element_type(dtype))

    def parts(make: Callable[[], Tensor]) -> list[ir.Value]:
        made = make()
        axis = made.nested_axis()
        return [shapes.cast(made.storage, type_), *([] if limit is None else axis.vectors)]

    few = are_few(x, 1, pairs)
    assert isinstance(few, ir.Value)
    types = [type_] if limit is None else [type_, vector_type()]
    storage, *offsets = flow.choose(few, lambda: parts(by_ranks), lambda: parts(by_columns), types)
    own = NestedAxis("dr", offsets, [None, None]) if offsets else x.axes[0]  # the same one is known to conform
    return x.trace.assembled(storage, [own, *x.axes[1:]], dtype)


def _keys(x: Tensor, descending: bool) -> Tensor:
    whole = KEYS[x.dtype.itemsize]
    return mapped(x, [], whole, lambda given: directed(key(given[0], x.dtype), whole, descending))


def _by_ranks(x: Tensor, dim: int, descending: bool) -> Tensor:
    return by_ranks(_keys(x, descending), dim)


def _by_ranks_or_digits(x: Tensor, dim: int, descending: bool) -> Tensor:
    keys = _keys(x, descending)
    few = are_few(keys, dim)
    if isinstance(few, bool):
        return by_ranks(keys, dim) if few else by_digits(keys, dim)
    type_ = ir.RankedTensorType.get(keys.storage.type.shape, element_type(INT64))
    made = flow.choose(
        few,
        lambda: [shapes.cast(by_ranks(keys, dim).storage, type_)],
        lambda: [shapes.cast(by_digits(keys, dim).storage, type_)],
        [type_],
    )
    return x.trace.assembled(made[0], x.axes, INT64)


def taken(x: Tensor, dim: int, indices: Tensor) -> Tensor:
    """The elements along a dim at indices in range; what has those is without windows, and is `x` in other dims."""
    number = x.place(dim)[0]
    axis = indices.axes[number]
    if isinstance(axis, PlainAxis) and axis.extent == 1 and x.static_shape[dim] != 0:
        return _chosen(x, dim, indices)
    out = shapes.empty(indices.storage_sizes(), element_type(x.dtype))
    out = shapes.cast(out, ir.RankedTensorType.get(indices.storage.type.shape, element_type(x.dtype)))
    rank = len(out.type.shape)
    rows = row_ids(indices, axis) if isinstance(axis, NestedAxis) else None
    starts = None if rows is None else component_starts(x, dim)

    def body(given: list[ir.Value]) -> list[ir.Value]:
        at = [loop_index(k) for k in range(rank)]
        index = build.to_index(given[0])
        if rows is not None and starts is not None:
            index = build.value(build.add(index, shapes.load(starts, shapes.load(rows, at[number]))))
        at[number] = index
        return [tensor.extract(x.storage, at)]

    made = generic.elementwise([indices.storage], [out], body).result
    return x.trace.assembled(made, indices.axes, x.dtype)


def _chosen(x: Tensor, dim: int, indices: Tensor) -> Tensor:
    """One element along a plain dim for all the others."""

    def body(given: list[ir.Value]) -> ir.Value:
        at = [loop_index(k) for k in range(x.ndim)]
        at[dim] = build.to_index(given[0])
        made = tensor.extract(x.value, at)
        definer(made).attributes[AT_LOOPS] = ir.UnitAttr.get()
        return made

    return mapped(indices, [], x.dtype, body)
