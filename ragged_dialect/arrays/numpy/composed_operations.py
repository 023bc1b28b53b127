"""Operations that only functions of NumPy name, composed of others."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from ragged_dialect.arrays.core.arguments import checked_axis
from ragged_dialect.arrays.index.dims import AxisArgument
from ragged_dialect.arrays.numpy.adapted import ones_like, zeros_like
from ragged_dialect.arrays.numpy.ufuncs import reduce
from ragged_dialect.arrays.ops.join import concat, cut
from ragged_dialect.arrays.ops.sorting.search import searchsorted as searched
from ragged_dialect.arrays.tracing.operation import OPERATIONS, operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.errors import ArgumentError


@operation("count_nonzero")
def count_nonzero(a: Tensor, *, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0."""
    return OPERATIONS["sum"](OPERATIONS["not_equal"](a, 0), axis=axis, keepdims=keepdims)


@operation("masked_mean")
def _masked_mean(a: Tensor, holds: Tensor, *, axis: AxisArgument, keepdims: bool) -> Tensor:
    wide = a if a.dtype.itemsize > 2 or a.dtype.kind in "bi" else a.astype(np.float32)
    total = reduce("add", wide, axis=axis, keepdims=keepdims, where=holds)
    counted = OPERATIONS["where"](holds, ones_like(a, bool), False)
    made = OPERATIONS["divide"](total, OPERATIONS["sum"](counted, axis=axis, keepdims=keepdims))
    return made if a.dtype.kind in "bi" else made.astype(a.dtype)


@operation("average")
def _average(a: Tensor, given: Tensor, *, axis: AxisArgument, keepdims: bool) -> Tensor:
    if not given.layout.is_dense:
        given = given[(..., *[None] * (a.ndim - given.ndim))]  # numbers of components, say, are those of all features
    elif given.ndim == 1 < a.ndim and axis is not None:
        given = given[(..., *[None] * (a.ndim - 1 - checked_axis("average", cast("int", axis), a.ndim)))]
    a = a.astype(np.float64) if a.dtype.kind in "bi" else a
    whole = OPERATIONS["where"](True, given, zeros_like(a, given.dtype))
    total = OPERATIONS["sum"](OPERATIONS["multiply"](a, whole), axis=axis, keepdims=keepdims)
    return OPERATIONS["divide"](total, OPERATIONS["sum"](whole, axis=axis, keepdims=keepdims))


@operation("norm")
def _norm(x: Tensor, *, ord: int | float | None, axis: AxisArgument, keepdims: bool) -> Tensor:
    x = x.astype(np.float64) if x.dtype.kind in "bi" else x
    size = OPERATIONS["absolute"](x)
    if ord in (math.inf, -math.inf):
        made = OPERATIONS["max" if ord > 0 else "min"](size, axis=axis, keepdims=keepdims)
        return OPERATIONS["maximum"](made, 0)  # where there are no elements, -inf is the largest
    if ord == 0:
        return OPERATIONS["sum"](OPERATIONS["not_equal"](x, 0).astype(x.dtype), axis=axis, keepdims=keepdims)
    if ord is None or ord == 2:
        return OPERATIONS["root"](OPERATIONS["sum"](OPERATIONS["square"](size), axis=axis, keepdims=keepdims))
    total = OPERATIONS["sum"](OPERATIONS["power"](size, ord), axis=axis, keepdims=keepdims)
    return OPERATIONS["power"](total, 1 / ord)


@operation("array_equal")
def _all_equal(x: Tensor, y: Tensor, *, equal_nan: bool) -> Tensor:
    same = OPERATIONS["equal"](x, y)
    if equal_nan:
        same = same | OPERATIONS["logical_and"](OPERATIONS["isnan"](x), OPERATIONS["isnan"](y))
    return same.all()


@operation("np.select")
def _chosen(default: Tensor, *cases: Tensor) -> Tensor:
    count = len(cases) // 2
    for condition, choice in zip(reversed(cases[:count]), reversed(cases[count:]), strict=True):
        default = OPERATIONS["where"](condition, choice, default)
    return default


@operation("diff")
def _differences(a: Tensor, prepend: Tensor | None, append: Tensor | None, *, n: int, axis: int) -> Tensor:
    if prepend is not None or append is not None:
        ends = [None if x is None else _end(a, axis, x) for x in (prepend, append)]
        a = concat([x for x in (ends[0], a, ends[1]) if x is not None], axis=axis)
    for _ in range(n):
        name = "not_equal" if a.dtype == np.bool_ else "subtract"
        a = OPERATIONS[name](cut(a, axis, 1, None), cut(a, axis, None, -1))
    return a


def _end(a: Tensor, dim: int, x: Tensor) -> Tensor:
    """What joins an array along a dim: of a number one element for each row."""
    if x.ndim:
        return x
    if len(a.ragged_dims) > 1 and dim in a.ragged_dims:
        raise ArgumentError("expected an array to join lists of lists along a ragged dim, got a number")
    rows = OPERATIONS["where"](True, x, zeros_like(OPERATIONS["sum"](a, axis=dim), a.dtype))
    return rows[(*[slice(None)] * dim, None)]


@operation("ptp")
def ptp(a: Tensor, *, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
    """The largest element less the smallest one; of no integers 0."""
    high, low = (OPERATIONS[n](a, axis=axis, keepdims=keepdims) for n in ("max", "min"))
    if a.dtype.kind == "i":
        high = OPERATIONS["maximum"](high, low)
    return OPERATIONS["subtract"](high, low)


@operation("isclose", elementwise=True)
def _close(a: Tensor, b: Tensor, rtol: Tensor, atol: Tensor, *, equal_nan: bool) -> Tensor:
    b = OPERATIONS["multiply"](b, 1.0)  # differences of integers, and the size of the least one, may not be integers
    difference = OPERATIONS["absolute"](OPERATIONS["subtract"](a, b))
    near = difference <= OPERATIONS["add"](OPERATIONS["multiply"](OPERATIONS["absolute"](b), rtol), atol)
    near = OPERATIONS["logical_and"](near, OPERATIONS["isfinite"](b)) | OPERATIONS["equal"](a, b)
    if not equal_nan:
        return near
    return near | OPERATIONS["logical_and"](OPERATIONS["isnan"](a), OPERATIONS["isnan"](b))


@operation("allclose", elementwise=True)
def _all_close(a: Tensor, b: Tensor, rtol: Tensor, atol: Tensor, *, equal_nan: bool) -> Tensor:
    return _close(a, b, rtol, atol, equal_nan=equal_nan).all()


@operation("interp")
def _interp(x: Tensor, xp: Tensor, fp: Tensor, left: Tensor | None, right: Tensor | None) -> Tensor:
    if not xp.layout.is_dense:
        read, count = OPERATIONS["gather"], xp.lengths[:, None]
    else:
        read, count = OPERATIONS["take"], OPERATIONS["sum"](OPERATIONS["equal"](xp, xp))
    where, less = OPERATIONS["where"], OPERATIONS["less"]
    at = OPERATIONS["minimum"](OPERATIONS["maximum"](searched(xp, x, side="right"), 1), count - 1)
    (begin, end), (low, high) = ((read(points, at - 1), read(points, at)) for points in (xp, fp))
    is_one, equal = OPERATIONS["equal"](begin, end), OPERATIONS["equal"]
    slope = (high - low) / where(is_one, 1, end - begin)
    made = low + (x - begin) * slope
    made = where(OPERATIONS["isnan"](made), high + (x - end) * slope, made)  # beside infinite numbers
    made = where(OPERATIONS["logical_and"](OPERATIONS["isnan"](made), equal(low, high)) & equal(x, x), low, made)
    made = where(equal(x, begin), low, made)
    made = where(OPERATIONS["logical_or"](is_one, less(end, x) | equal(end, x)), high, made)
    made = where(less(x, begin), low if left is None else left, made)
    return made if right is None else where(less(end, x), right, made)
