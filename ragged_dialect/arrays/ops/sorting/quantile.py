"""`quantile` and `median`: elements in the middle of others, between which one is interpolated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from typing import cast

import numpy as np

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.spec import FLOAT
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.index.dims import AxisArgument, dims_of
from ragged_dialect.arrays.ops.argmax import joined
from ragged_dialect.arrays.ops.elementwise import UFUNCS, astype, where
from ragged_dialect.arrays.ops.join import concat
from ragged_dialect.arrays.ops.reduce import finish, reduce, source
from ragged_dialect.arrays.ops.sorting.sort import ordered as in_order
from ragged_dialect.arrays.ops.statistics import count, float_dtype, wide
from ragged_dialect.arrays.tracing.elements import INT64, compare, constant, convert, select
from ragged_dialect.arrays.tracing.operation import OPERATIONS, operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.errors import ArgumentError, AxisError, brief
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build

_AT_ONCE = 8
"""Quantiles of a program: more have several, which sort again."""


def quantile(
    x: ArrayLike,
    q: ArrayLike,
    *,
    axis: ArrayLike = None,
    keepdims: bool = False,
    method: str = "linear",
) -> ArrayLike:
    """The q-quantile along dims, as `np.quantile` has it with its names for a `method`: interpolated between the two
    nearest elements in order, nan where one is nan, or of an empty component. The gradient goes to these elements. Of
    several `q` those of each along a new dim 0, for which elements are sorted once. Dims as for `rg.sort`, or several
    that are adjacent. ArgumentError for a `q` that is not from 0 to 1, RuntimeCheckError for a traced one, and
    ArgumentError for another method.

    >>> rg.quantile(rg.ragged([[3.0, 1.0, 2.0], [], [5.0, 4.0]]), 0.25, axis=1)
    array([1.5 ,  nan, 4.25])
    >>> rg.quantile(rg.ragged([[3.0, 1.0, 2.0], [], [5.0, 4.0]]), 0.25, axis=1, method="lower")
    array([ 1., nan,  4.])
    """
    return quantiles(x, q, axis, keepdims, method, numbers=False)


def quantiles(x: ArrayLike, q: ArrayLike, axis: ArrayLike, keepdims: bool, method: str, *, numbers: bool) -> ArrayLike:
    """See `quantile`; with `numbers` of the elements that are some, nan where there are none."""
    if not isinstance(method, str) or method not in _PLACES:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"quantile: expected a method of {', '.join(_PLACES)}, got {brief(method)}")
    if isinstance(q, Tensor) and q.ndim == 1 and q.is_dense and isinstance(extent := q.static_shape[0], int):
        q = [q[k] for k in range(extent)]
    several = isinstance(q, Sequence) or (isinstance(q, np.ndarray) and q.ndim == 1)
    given = cast("Sequence[ArrayLike]", q if several else [q])
    qs = [_checked(one.item() if isinstance(one, np.ndarray) and one.ndim == 0 else one) for one in given]
    if not qs:
        raise ArgumentError("quantile: expected at least one q, got none")
    if len(qs) <= _AT_ONCE:
        return _quantiles(x, *qs, axis=axis, keepdims=keepdims, method=method, several=several, numbers=numbers)
    parts = [qs[k : k + _AT_ONCE] for k in range(0, len(qs), _AT_ONCE)]
    made = [
        _quantiles(x, *part, axis=axis, keepdims=keepdims, method=method, several=True, numbers=numbers)
        for part in parts
    ]
    return concat(made, axis=0)


def listed(op: str, q: ArrayLike, most: int = 1) -> ArrayLike:
    """A number or a list of numbers, of what NumPy's functions take, from 0 to 1 where these have it to `most`.
    ArgumentError for what is no number, is not in that range, or is of a higher rank."""
    if isinstance(q, Tensor):
        return q if most == 1 else OPERATIONS["divide"](q, most)
    numbers = storage.take(q)
    if numbers.ndim > 1:
        raise ArgumentError(f"{op}: expected a number or a vector for q, got rank {numbers.ndim}")
    fractions = [_checked(one, op, most) / most for one in numbers.reshape(-1).tolist()]
    return fractions if numbers.ndim else fractions[0]


@operation("quantile_of")
def _traced(q: Tensor) -> Tensor:
    if q.axes or q.dtype.kind not in "if":
        raise ArgumentError(f"quantile: expected a number for q, or a vector of known size, got {q.described}")
    q = astype(q, dtype=FLOAT.dtype) if q.dtype.kind == "i" else q
    holds = [compare(way, q.scalar, constant(q.dtype, end)) for way, end in (("ge", 0.0), ("le", 1.0))]
    builders.assert_valid(
        [arith.index_castui(build.index_type(), arith.andi(*holds))], "holds", "quantile: q in [0, 1]", 0
    )
    return q


def _checked(q: ArrayLike, op: str = "quantile", most: int = 1) -> ArrayLike:
    if isinstance(q, Tensor):
        return _traced(q)
    if not isinstance(q, (int, float, np.integer, np.floating)) or isinstance(q, bool):
        raise ArgumentError(f"{op}: expected a number for q, or several, got {type(q).__name__}")
    if not 0 <= q <= most:
        raise ArgumentError(f"{op}: expected q from 0 to {most}, got {q}")
    return float(q)  # pyright: ignore[reportUnknownArgumentType]


def _linear(last: Tensor | float, q: Tensor) -> Tensor:
    return UFUNCS["multiply"](last, q)


def _midpoint(last: Tensor | float, q: Tensor) -> Tensor:
    place = _linear(last, q)
    return UFUNCS["multiply"](UFUNCS["add"](UFUNCS["floor"](place), UFUNCS["ceil"](place)), 0.5)


def _plotting(alpha: float, beta: float) -> Callable[[Tensor | float, Tensor], Tensor]:
    """Positions n q + m of Hyndman and Fan (1996), counted from 0, where m = alpha + q (1 - alpha - beta)."""

    def place(last: Tensor | float, q: Tensor) -> Tensor:
        whole = UFUNCS["multiply"](UFUNCS["add"](last, 1.0), q)
        shift = UFUNCS["add"](UFUNCS["multiply"](q, 1 - alpha - beta), alpha)
        return UFUNCS["subtract"](UFUNCS["add"](whole, shift), 1.0)

    return place


def _stepped(method: str) -> Callable[[Tensor | float, Tensor], Tensor]:
    """The first three of Hyndman and Fan (1996): the element at which a share q of all is reached; on the step between
    two elements that one, their mean, or of positions halfway the one that is even when it is counted from 1."""

    def place(last: Tensor | float, q: Tensor) -> Tensor:
        whole = UFUNCS["multiply"](UFUNCS["add"](last, 1.0), q)
        if method == "closest_observation":
            half = UFUNCS["multiply"](UFUNCS["rint"](UFUNCS["multiply"](whole, 0.5)), 2.0)
            low = UFUNCS["ceil"](UFUNCS["subtract"](whole, 0.5))
            is_between = UFUNCS["equal"](low, UFUNCS["subtract"](whole, 0.5))
            return UFUNCS["subtract"](where(is_between, half, low), 1.0)
        above = UFUNCS["subtract"](UFUNCS["ceil"](whole), 1.0)
        if method == "inverted_cdf":
            return above
        return where(UFUNCS["equal"](above, UFUNCS["subtract"](whole, 1.0)), UFUNCS["subtract"](whole, 0.5), above)

    return place


_PLACES: dict[str, Callable[[Tensor | float, Tensor], Tensor]] = {
    "linear": _linear,
    "lower": lambda last, q: UFUNCS["floor"](_linear(last, q)),
    "higher": lambda last, q: UFUNCS["ceil"](_linear(last, q)),
    "nearest": lambda last, q: UFUNCS["rint"](_linear(last, q)),
    "midpoint": _midpoint,
    "inverted_cdf": _stepped("inverted_cdf"),
    "averaged_inverted_cdf": _stepped("averaged_inverted_cdf"),
    "closest_observation": _stepped("closest_observation"),
    "interpolated_inverted_cdf": _plotting(0.0, 1.0),
    "hazen": _plotting(0.5, 0.5),
    "weibull": _plotting(0.0, 0.0),
    "median_unbiased": _plotting(1 / 3, 1 / 3),
    "normal_unbiased": _plotting(3 / 8, 3 / 8),
}
"""The place of a quantile among elements in order, from 0 to that of the last one, by NumPy's names; it may be outside
of these."""

_OF_ONE = frozenset({"lower", "higher", "nearest", "inverted_cdf", "closest_observation"})
"""Those whose places are of elements: nothing is between two of them, which may be infinite."""


@operation("quantile")
def _quantiles(
    x: Tensor, *qs: Tensor, axis: AxisArgument, keepdims: bool, method: str, several: bool, numbers: bool
) -> Tensor:
    """Quantiles; see `quantiles`."""

    def between(part: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
        """From the nearer end on, as NumPy has it: one that is infinite is met."""
        apart = UFUNCS["subtract"](upper, lower)
        above = UFUNCS["add"](lower, UFUNCS["multiply"](apart, part))
        below = UFUNCS["subtract"](upper, UFUNCS["multiply"](apart, UFUNCS["subtract"](1, part)))
        return where(UFUNCS["less"](part, 0.5), above, below)

    def only(_: Tensor, lower: Tensor, __: Tensor) -> Tensor:
        return lower

    value = only if method in _OF_ONE else between
    made = _interpolated(x, axis, keepdims, qs, _PLACES[method], value, numbers)
    return OPERATIONS["stack"](*made, axis=0) if several else made[0]


@operation("median")
def median(x: Tensor, *, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
    """The element in the middle along dims, or the mean of the two, as `np.median` has it; otherwise as `quantile`.

    >>> rg.median(rg.ragged([[3.0, 1.0, 2.0], [], [5.0, 4.0]]), axis=1)
    array([2. , nan, 4.5])
    """
    return _middle(x, axis, keepdims, numbers=False)


@operation("nanmedian")
def median_of_numbers(x: Tensor, *, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
    """The median of the elements that are not nan."""
    return _middle(x, axis, keepdims, numbers=True)


def _middle(x: Tensor, axis: AxisArgument, keepdims: bool, *, numbers: bool) -> Tensor:
    def mean(_: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
        return where(UFUNCS["equal"](lower, upper), lower, UFUNCS["multiply"](UFUNCS["add"](lower, upper), 0.5))

    half = x.trace.constant(0.5, FLOAT.dtype)
    return _interpolated(x, axis, keepdims, [half], _PLACES["linear"], mean, numbers)[0]


def _interpolated(
    x: Tensor,
    axis: AxisArgument,
    keepdims: bool,
    qs: Sequence[Tensor],
    place_of: Callable[[Tensor | float, Tensor], Tensor],
    between: Callable[[Tensor, Tensor, Tensor], Tensor],
    numbers: bool,
) -> list[Tensor]:
    """What is between the two elements around the place of each quantile, which are picked by sums of one term:
    components without elements have none to read. With `numbers` those behind the last one are nan, and left out."""
    whole = source(x)
    dims = dims_of(whole, axis)
    if not dims:
        raise AxisError(f"{x.trace.op}: expected at least one axis, got none")
    y, dim = joined(whole, dims)
    out = float_dtype(y.dtype)
    inner, gone, zero = wide(out), frozenset({dim}), constant(wide(out), 0)
    ordered = in_order(y, dim, descending=False)
    size: Tensor | float = count(y, gone, INT64)
    if numbers:
        size = OPERATIONS["sum"](UFUNCS["logical_not"](UFUNCS["isnan"](y)), axis=dim)
    is_empty = not size if isinstance(size, float) else UFUNCS["equal"](size, 0)
    last = max(size - 1, 0.0) if isinstance(size, float) else UFUNCS["subtract"](size, 1)

    def pick(given: list[ir.Value], totals: list[ir.Value], places: Sequence[Tensor]) -> list[ir.Value]:
        here, term = build.to_i64(loop_index(dim)), convert(given[0], y.dtype, inner)
        known = iter(given[1:])
        at = [convert(place.scalar, place.dtype, INT64) if place.weak else next(known) for place in places]
        terms = [select(compare("eq", here, one), term, zero) for one in at]
        return [arith.addf(total, one) for total, one in zip(totals, terms, strict=True)]

    made: list[Tensor] = []
    for q in qs:
        place = UFUNCS["minimum"](UFUNCS["maximum"](place_of(last, q), 0.0), last)
        low = UFUNCS["floor"](place)
        end = x.trace.constant(last, FLOAT.dtype) if isinstance(last, (int, float)) else last
        ends: list[Tensor] = [low, UFUNCS["ceil"](place), end]
        places: list[Tensor] = [one if one.weak else astype(one, dtype=INT64) for one in ends]
        inits = [(inner, zero)] * 3
        read = [one for one in places if not one.weak]
        found = reduce(ordered, gone, inits, lambda g, t, places=places: pick(g, t, places), read)
        part = UFUNCS["subtract"](place, low)
        value = between(part if part.weak else astype(part, dtype=inner), found[0], found[1])
        value = where(is_empty, nan, where(UFUNCS["isnan"](found[2]), found[2], value))
        made.append(finish(whole, astype(value, dtype=out), dims, keepdims))
    return made
