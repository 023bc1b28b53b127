"""What components have as sets: `contains`, `union`, `intersection`, `difference`."""

from __future__ import annotations

from ragged_dialect.arrays.index.gather import boolean_mask
from ragged_dialect.arrays.ops.elementwise import UFUNCS
from ragged_dialect.arrays.ops.join import concat
from ragged_dialect.arrays.ops.sorting.search import isin
from ragged_dialect.arrays.ops.sorting.sort import ordered
from ragged_dialect.arrays.ops.sorting.unique import lists, unique
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor


@operation("contains")
def contains(x: Tensor, elements: Tensor) -> Tensor:
    """Which of `elements`, a number for each component, [B], or any [B, ...], are among the elements of their component
    of lists of numbers `x`, or of lists of lists those of each innermost one: booleans. nan is no other nan.
    LayoutError for another `x`.

    >>> rg.contains(rg.ragged([[1, 2], [], [5]]), rg.ragged([[2, 3], [1], [5]])).tolist()
    [[True, False], [False], [True]]
    """
    return isin(elements, ordered(*lists(x, -1), descending=False))


@operation("union")
def union(a: Tensor, b: Tensor) -> Tensor:
    """The distinct elements of both lists of each component, in ascending order, as `np.union1d` of each.

    >>> rg.union(rg.ragged([[3, 1], [2]]), rg.ragged([[3], []])).tolist()
    [[1, 3], [2]]
    """
    return unique(concat([a, b], axis=-1))


@operation("intersection")
def intersection(a: Tensor, b: Tensor) -> Tensor:
    """The distinct elements of the lists of `a` that are in those of `b` too, in ascending order, as `np.intersect1d`
    of each component.

    >>> rg.intersection(rg.ragged([[3, 1], [2]]), rg.ragged([[3], []])).tolist()
    [[3], []]
    """
    found = unique(a)
    return boolean_mask(found, contains(b, found))


@operation("difference")
def difference(a: Tensor, b: Tensor) -> Tensor:
    """The distinct elements of the lists of `a` that are not in those of `b`, in ascending order, as `np.setdiff1d` of
    each component.

    >>> rg.difference(rg.ragged([[3, 1], [2]]), rg.ragged([[3], []])).tolist()
    [[1], [2]]
    """
    found = unique(a)
    return boolean_mask(found, UFUNCS["logical_not"](contains(b, found)))
