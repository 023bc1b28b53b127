"""`quantile` and `median`: elements in the middle of others, between which one is interpolated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, nan

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.index.dims import AxisArgument, dims_of
from ragged_dialect.arrays.ops.argmax import joined
from ragged_dialect.arrays.ops.elementwise import UFUNCS, astype, where
from ragged_dialect.arrays.ops.reduce import finish, reduce, source
from ragged_dialect.arrays.ops.sorting.sort import sorting, taken
from ragged_dialect.arrays.ops.statistics import count, float_dtype, wide
from ragged_dialect.arrays.tracing.elements import INT64, compare, constant, convert, select
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.errors import ArgumentError, AxisError
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build


@operation("quantile")
def quantile(x: Tensor, *, q: float, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
    """The q-quantile along dims, as `np.quantile` has it: interpolated between the two nearest elements in order, nan
    where one is nan, or of an empty component. The gradient goes to these elements. Dims as for `rg.sort`, or several
    that are adjacent. ArgumentError for a `q` that is not from 0 to 1.

    >>> rg.quantile(rg.ragged([[3.0, 1.0, 2.0], [], [5.0, 4.0]]), 0.25, axis=1)
    array([1.5 ,  nan, 4.25])
    """
    if not 0 <= q <= 1:
        raise ArgumentError(f"{x.trace.op}: expected q from 0 to 1, got {q}")

    def between(part: Tensor | float, lower: Tensor, upper: Tensor) -> Tensor:
        return UFUNCS["add"](lower, UFUNCS["multiply"](UFUNCS["subtract"](upper, lower), part))

    return _interpolated(x, axis, keepdims, q, between)


@operation("median")
def median(x: Tensor, *, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
    """The element in the middle along dims, or the mean of the two, as `np.median` has it; otherwise as `quantile`.

    >>> rg.median(rg.ragged([[3.0, 1.0, 2.0], [], [5.0, 4.0]]), axis=1)
    array([2. ,  nan, 4.5])
    """

    def mean(_: Tensor | float, lower: Tensor, upper: Tensor) -> Tensor:
        return where(UFUNCS["equal"](lower, upper), lower, UFUNCS["multiply"](UFUNCS["add"](lower, upper), 0.5))

    return _interpolated(x, axis, keepdims, 0.5, mean)


@dataclass(frozen=True)
class _Places:
    """Where a quantile of some elements is: the indices before and behind it, and of the last one, as numbers where the
    extents are known, and how far it is from the first."""

    tensors: list[Tensor]
    numbers: list[int]
    part: Tensor | float
    is_empty: Tensor | bool

    @staticmethod
    def of(count: Tensor | float, q: float) -> _Places:
        if isinstance(count, float):
            place = max(count - 1, 0) * q
            low = floor(place)
            return _Places([], [low, ceil(place), int(count) - 1], place - low, not count)
        place = UFUNCS["multiply"](UFUNCS["subtract"](count, 1.0), q)
        low, high, last = UFUNCS["floor"](place), UFUNCS["ceil"](place), UFUNCS["subtract"](count, 1)
        tensors = [astype(one, dtype=INT64) for one in (low, high, last)]
        return _Places(tensors, [], UFUNCS["subtract"](place, low), UFUNCS["equal"](count, 0))


def _interpolated(
    x: Tensor,
    axis: AxisArgument,
    keepdims: bool,
    q: float,
    between: Callable[[Tensor | float, Tensor, Tensor], Tensor],
) -> Tensor:
    """What is between the two elements around the place of a quantile, which are picked by sums of one term: components
    without elements have none to read."""
    whole = source(x)
    dims = dims_of(whole, axis)
    if not dims:
        raise AxisError(f"{x.trace.op}: expected at least one axis, got none")
    y, dim = joined(whole, dims)
    out = float_dtype(y.dtype)
    inner, gone, zero = wide(out), frozenset({dim}), constant(wide(out), 0)
    places = _Places.of(count(y, gone, INT64), q)
    known = [constant(INT64, place) for place in places.numbers]

    def pick(given: list[ir.Value], totals: list[ir.Value]) -> list[ir.Value]:
        here, term = build.to_i64(loop_index(dim)), convert(given[0], y.dtype, inner)
        terms = [select(compare("eq", here, at), term, zero) for at in given[1:] or known]
        return [arith.addf(total, one) for total, one in zip(totals, terms, strict=True)]

    ordered = taken(y, dim, sorting(y, dim, descending=False))
    low, high, most = reduce(ordered, gone, [(inner, zero)] * 3, pick, places.tensors)
    part = places.part if isinstance(places.part, float) else astype(places.part, dtype=inner)
    made = where(UFUNCS["isnan"](most), most, between(part, low, high))
    made = where(places.is_empty, nan, made)
    return finish(whole, astype(made, dtype=out), dims, keepdims)
