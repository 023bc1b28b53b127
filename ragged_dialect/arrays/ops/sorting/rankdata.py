"""`rankdata`: the place of each element among those of its component."""

from __future__ import annotations

from ragged_dialect.arrays.ops.elementwise import UFUNCS
from ragged_dialect.arrays.ops.sorting.search import searchsorted
from ragged_dialect.arrays.ops.sorting.sort import ordered, sorting
from ragged_dialect.arrays.ops.sorting.unique import lists, unique
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.errors import ArgumentError, brief

_METHODS = ("average", "min", "max", "dense", "ordinal")


@operation("rankdata")
def rankdata(x: Tensor, *, axis: int = -1, method: str = "average") -> Tensor:
    """The ranks from 1 on of the elements of every component of lists of numbers, as `scipy.stats.rankdata` of each has
    them: equal elements have the mean of their ranks, in float64, or with `method`, in int64, the least of them
    (`min`), the largest (`max`), the one among the distinct elements (`dense`), or each its own in their order
    (`ordinal`). All nan are equal, and behind all numbers. LayoutError for features, ArgumentError for another method.

    >>> scores = rg.ragged([[0.5, 0.9, 0.5], [], [7.0]])
    >>> rg.rankdata(scores).tolist()
    [[1.5, 3.0, 1.5], [], [1.0]]
    >>> rg.rankdata(-scores, method="min").tolist()
    [[2, 1, 2], [], [1]]
    """
    if method not in _METHODS:
        raise ArgumentError(f"{x.trace.op}: expected a method of {', '.join(_METHODS)}, got {brief(method)}")
    given, dim = lists(x, axis)
    if method == "ordinal":
        found = sorting(sorting(given, dim, descending=False), dim, descending=False)
        return UFUNCS["add"](found, 1)
    known = unique(given) if method == "dense" else ordered(given, dim, descending=False)
    if method == "max":
        return searchsorted(known, given, side="right")
    least = UFUNCS["add"](searchsorted(known, given), 1)
    if method != "average":
        return least
    return UFUNCS["divide"](UFUNCS["add"](least, searchsorted(known, given, side="right")), 2)
