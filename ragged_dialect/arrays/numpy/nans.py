"""NumPy's functions that leave nan out, and the one that puts numbers in its place."""

from __future__ import annotations

import math

import ml_dtypes

from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.tracing.operation import OPERATIONS


def _without_nan(a: ArrayLike, number: float) -> ArrayLike:
    return OPERATIONS["where"](OPERATIONS["isnan"](a), number, a)


def _of_floats(a: ArrayLike, made: ArrayLike) -> ArrayLike:
    """A mean in the dtype of its elements, where these are floats."""
    return made if a.dtype.kind in "iub" else made.astype(a.dtype)


def _numbers_in(a: ArrayLike, axis: ArrayLike, keepdims: bool) -> ArrayLike:
    return OPERATIONS["sum"](OPERATIONS["logical_not"](OPERATIONS["isnan"](a)), axis=axis, keepdims=keepdims)


def nansum(a: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """Sums without nan."""
    return OPERATIONS["sum"](_without_nan(a, 0), axis=axis, keepdims=keepdims)


def nanmean(a: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """Means without nan; nan where nothing else is."""
    return _of_floats(a, OPERATIONS["divide"](nansum(a, axis, keepdims), _numbers_in(a, axis, keepdims)))


def nanprod(a: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """Products without nan."""
    return OPERATIONS["prod"](_without_nan(a, 1), axis=axis, keepdims=keepdims)


def nanvar(a: ArrayLike, axis: ArrayLike = None, ddof: int = 0, keepdims: bool = False) -> ArrayLike:
    """Variances without nan: squares about the mean over the count less `ddof`; nan where that is not above 0."""
    apart = OPERATIONS["subtract"](a, nanmean(a, axis, keepdims=True))
    known = OPERATIONS["where"](OPERATIONS["isnan"](a), 0, OPERATIONS["square"](apart))  # inf - inf is no nan of `a`
    squares = OPERATIONS["sum"](known, axis=axis, keepdims=keepdims)
    left = OPERATIONS["subtract"](_numbers_in(a, axis, keepdims), ddof)
    return _of_floats(
        a, OPERATIONS["divide"](squares, OPERATIONS["where"](OPERATIONS["greater"](left, 0), left, math.nan))
    )


def nanstd(a: ArrayLike, axis: ArrayLike = None, ddof: int = 0, keepdims: bool = False) -> ArrayLike:
    """Roots of variances without nan."""
    return OPERATIONS["root"](nanvar(a, axis, ddof, keepdims))


def nanmax(a: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """The largest element but for nan; nan where nothing else is."""
    return _extreme(a, "max", -math.inf, axis, keepdims)


def nanmin(a: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """The smallest element but for nan; nan where nothing else is."""
    return _extreme(a, "min", math.inf, axis, keepdims)


def _extreme(a: ArrayLike, name: str, least: float, axis: ArrayLike, keepdims: bool) -> ArrayLike:
    if a.dtype.kind in "iub":
        return OPERATIONS[name](a, axis=axis, keepdims=keepdims)
    found = OPERATIONS[name](_without_nan(a, least), axis=axis, keepdims=keepdims)
    return OPERATIONS["where"](OPERATIONS["equal"](_numbers_in(a, axis, keepdims), 0), math.nan, found)


def nan_to_num(
    x: ArrayLike, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> ArrayLike:
    """Numbers in the place of nan and infinities, which are by default the extremes of the dtype; arrays of integers
    as they are."""
    if x.dtype.kind in "iub":
        return x
    most = float(ml_dtypes.finfo(x.dtype).max)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    for found, number in (
        (OPERATIONS["isnan"](x), nan),
        (OPERATIONS["equal"](x, math.inf), most if posinf is None else posinf),
        (OPERATIONS["equal"](x, -math.inf), -most if neginf is None else neginf),
    ):
        x = OPERATIONS["where"](found, number, x)
    return x
