"""NumPy's functions that leave nan out, and the one that puts numbers in its place."""

from __future__ import annotations

import math

import ml_dtypes

from ragged_dialect.arrays.core.arguments import flag
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.index.dims import AxisArgument
from ragged_dialect.arrays.ops.sorting import quantile as quantiles
from ragged_dialect.arrays.tracing.operation import OPERATIONS, operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.errors import ArgumentError


def _without_nan(a: Tensor, number: float) -> Tensor:
    return OPERATIONS["where"](OPERATIONS["isnan"](a), number, a)


def _of_floats(a: Tensor, made: Tensor) -> Tensor:
    """A mean in the dtype of its elements, where these are floats."""
    return made if a.dtype.kind in "iub" else made.astype(a.dtype)


def _numbers_in(a: Tensor, axis: AxisArgument, keepdims: bool) -> Tensor:
    return OPERATIONS["sum"](OPERATIONS["logical_not"](OPERATIONS["isnan"](a)), axis=axis, keepdims=keepdims)


@operation("nansum")
def nansum(a: Tensor, *, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
    """Sums without nan."""
    return OPERATIONS["sum"](_without_nan(a, 0), axis=axis, keepdims=keepdims)


@operation("nanmean")
def nanmean(a: Tensor, *, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
    """Means without nan; nan where nothing else is."""
    return _of_floats(a, OPERATIONS["divide"](nansum(a, axis=axis, keepdims=keepdims), _numbers_in(a, axis, keepdims)))


@operation("nanprod")
def nanprod(a: Tensor, *, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
    """Products without nan."""
    return OPERATIONS["prod"](_without_nan(a, 1), axis=axis, keepdims=keepdims)


@operation("nanvar")
def nanvar(a: Tensor, *, axis: AxisArgument = None, ddof: int | float = 0, keepdims: bool = False) -> Tensor:
    """Variances without nan: squares about the mean over the count less `ddof`; nan where that is not above 0."""
    apart = OPERATIONS["subtract"](a, nanmean(a, axis=axis, keepdims=True))
    known = OPERATIONS["where"](OPERATIONS["isnan"](a), 0, OPERATIONS["square"](apart))  # inf - inf is no nan of `a`
    squares = OPERATIONS["sum"](known, axis=axis, keepdims=keepdims)
    left = OPERATIONS["subtract"](_numbers_in(a, axis, keepdims), ddof)
    return _of_floats(
        a, OPERATIONS["divide"](squares, OPERATIONS["where"](OPERATIONS["greater"](left, 0), left, math.nan))
    )


@operation("nanstd")
def nanstd(a: Tensor, *, axis: AxisArgument = None, ddof: int | float = 0, keepdims: bool = False) -> Tensor:
    """Roots of variances without nan."""
    return OPERATIONS["root"](nanvar(a, axis=axis, ddof=ddof, keepdims=keepdims))


@operation("nanmax")
def nanmax(a: Tensor, *, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
    """The largest element but for nan; nan where nothing else is."""
    return _extreme(a, "max", -math.inf, axis, keepdims)


@operation("nanmin")
def nanmin(a: Tensor, *, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
    """The smallest element but for nan; nan where nothing else is."""
    return _extreme(a, "min", math.inf, axis, keepdims)


def _extreme(a: Tensor, name: str, least: float, axis: AxisArgument, keepdims: bool) -> Tensor:
    if a.dtype.kind in "iub":
        return OPERATIONS[name](a, axis=axis, keepdims=keepdims)
    found = OPERATIONS[name](_without_nan(a, least), axis=axis, keepdims=keepdims)
    return OPERATIONS["where"](OPERATIONS["equal"](_numbers_in(a, axis, keepdims), 0), math.nan, found)


def nanmedian(a: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """Medians without nan; nan where nothing else is."""
    return quantiles.median_of_numbers(a, axis=axis, keepdims=keepdims)


def nanquantile(
    a: ArrayLike, q: ArrayLike, axis: ArrayLike = None, keepdims: bool = False, method: str = "linear"
) -> ArrayLike:
    """Quantiles without nan; nan where nothing else is. Of several `q` those of each along a new dim 0."""
    return quantiles.quantiles(a, quantiles.listed("np.nanquantile", q), axis, keepdims, method, numbers=True)


def nanpercentile(
    a: ArrayLike, q: ArrayLike, axis: ArrayLike = None, keepdims: bool = False, method: str = "linear"
) -> ArrayLike:
    """As `nanquantile`, in percent."""
    return quantiles.quantiles(a, quantiles.listed("np.nanpercentile", q, 100), axis, keepdims, method, numbers=True)


def nan_to_num(
    x: ArrayLike, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> ArrayLike:
    """Numbers in the place of nan and infinities, which are by default the extremes of the dtype; arrays of integers
    as they are."""
    if not flag("np.nan_to_num", "copy", copy):
        raise ArgumentError("np.nan_to_num: expected copy=True, got False (arrays are immutable)")
    return x if x.dtype.kind in "iub" else _filled(x, nan, posinf, neginf)


@operation("nan_to_num")
def _filled(x: Tensor, nan: Tensor, posinf: Tensor | None, neginf: Tensor | None) -> Tensor:
    most = float(ml_dtypes.finfo(x.dtype).max)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    for found, number in (
        (OPERATIONS["isnan"](x), nan),
        (OPERATIONS["equal"](x, math.inf), most if posinf is None else posinf),
        (OPERATIONS["equal"](x, -math.inf), -most if neginf is None else neginf),
    ):
        x = OPERATIONS["where"](found, number, x)
    return x
