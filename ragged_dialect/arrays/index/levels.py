"""Levels partitioned, merged and split; one index of a dim."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core import creation
from ragged_dialect.arrays.core.arguments import check_ragged
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.value import Value, is_traced
from ragged_dialect.arrays.index.dims import dim_of
from ragged_dialect.arrays.tracing.loops import widened
from ragged_dialect.arrays.tracing.operation import Operation, operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import contiguous, of_value
from ragged_dialect.errors import ArgumentError, LayoutError


def structured(x: Tensor, value: ir.Value, *, view: bool = False) -> Tensor:
    """The tracer of what a structure op made of `x`. Of a view, which only regroups the levels of storage
    axes, the storage is that of `x`."""
    made = builders.values(value) if value.type.encoding is not None else value
    if view and made.type == x.storage.type:
        made = x.storage
    return of_value(x.trace, value, x.dtype, None, made)


@operation("merge")
def merge(x: Tensor, *, axis: int) -> Tensor:
    """`axis` with the dim after it: a batch of lists becomes the list of all rows, two ragged levels
    one; a view where the result is ragged and `axis` is no whole storage axis. The rules are those of
    `ragged.merge`."""
    x = contiguous(x)
    return structured(x, builders.merge(x.value, dim_of(x, axis)), view=True)


@operation("partition")
def partition(x: Tensor, vector: Tensor, *, axis: int = 0, lengths: bool = False) -> Tensor:
    """`axis` grouped into components by offsets, or lengths, of rank 1 or 2: a batch and a ragged dim; a
    view. RuntimeCheckError for offsets that do not fit."""
    dim = dim_of(x, axis)
    if vector.dtype.kind != "i" or not vector.is_dense or vector.ndim not in (1, 2):
        name = "lengths" if lengths else "offsets"
        raise ArgumentError(f"partition: expected integers of rank 1 or 2 for {name}, got {vector.described}")
    if vector.dtype.itemsize < 4:  # index vectors of programs have 32 bits or more
        vector = widened(vector)
    return structured(x, builders.partition(x.value, vector.value, dim, lengths), view=True)


def like(x: ArrayLike, values: ArrayLike) -> ArrayLike:
    """An array with the structure of another and values of its own, in the order of `x.values` and of the same
    extents on ragged axes. RuntimeCheckError where they do not fit, LayoutError in traced code for others than
    lists of elements or of dense rows, that have no windows.

    >>> rg.like(rg.ragged([[1.0, 2.0], [], [3.0]]), np.array([4, 5, 6])).tolist()
    [[4, 5], [], [6]]
    """
    if not any(map(is_traced, (x, values))):
        return creation.like(x, values)
    check_ragged("like", x)
    first, *others = x.layout.axes
    if first != "d" + "r" * (len(first) - 1) or len(first) < 2 or any(len(letters) > 1 for letters in others):
        hint = " (rg.compact makes them of windows)" if "w" in str(x.layout) else ""
        raise LayoutError(f'like: expected lists in traced code, got layout "{x.layout}"{hint}')
    if isinstance(values, Value) and not values.layout.is_dense:
        raise ArgumentError("like: expected a dense array, got a ragged one (its values are one)")
    if getattr(values, "ndim", None) == 0:
        raise LayoutError("like: expected values of rank 1 or more, got rank 0")
    for dim in reversed(range(1, len(first))):
        values = partition(values, x.offsets_of(dim))
    return values


@operation("split")
def split(x: Tensor, *, axis: int, factor: int) -> Tensor:
    """`axis` in an outer dim and a tile of `factor`, whose last one may have holes; a view.
    RuntimeCheckError for a batch that the factor does not divide: no component would fill it up."""
    x = contiguous(x)
    return structured(x, builders.split(x.value, dim_of(x, axis), factor), view=True)


@operation("compact")
def compact(x: Tensor) -> Tensor:
    """Windows made contiguous: a copy of what is inside them; the array itself without windows."""
    return contiguous(x)


def copied(x: RaggedArray) -> RaggedArray:
    """`compact` by a program."""
    return Operation.__call__(compact, x)
