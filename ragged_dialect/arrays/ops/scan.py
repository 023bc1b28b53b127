"""Running sums, products and others along a dim."""

from __future__ import annotations

import math
from collections.abc import Callable

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.arguments import axis_of_vector
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.index.dims import dim_of
from ragged_dialect.arrays.index.group import grouped
from ragged_dialect.arrays.ops.elementwise import UFUNCS, astype, resolve, where
from ragged_dialect.arrays.ops.reduce import source
from ragged_dialect.arrays.ops.statistics import accumulator, float_dtype, wide
from ragged_dialect.arrays.ops.ufunc_floats import without_derivative
from ragged_dialect.arrays.tracing.elements import BOOL
from ragged_dialect.arrays.tracing.loops import mapped
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.errors import ArgumentError

SCANS: dict[str, Callable[[DType], DType]] = {
    "add": accumulator, "multiply": accumulator, "maximum": lambda dtype: dtype, "minimum": lambda dtype: dtype,
    "logical_or": lambda dtype: BOOL, "logical_and": lambda dtype: BOOL, "logaddexp": float_dtype,
}  # fmt: skip
"""Ufuncs that can be scanned, with the dtype of the results."""

_KINDS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_or": "max", "logical_and": "min",
}  # fmt: skip


@operation("accumulate")
def accumulate(x: Tensor, *, ufunc: str, axis: int) -> Tensor:
    """A ufunc, one of `SCANS`, of the elements up to each one along a dim (`ragged.scan`)."""
    x = source(x)
    grouping = grouped(x, frozenset({dim_of(x, axis)}))
    return grouping.back(_scanned(grouping.value, next(iter(grouping.dims)), ufunc))


@operation("cumsum")
def cumsum(x: Tensor, *, axis: int | None = None) -> Tensor:
    """Sums of the elements up to each one along a dim, which is left out of vectors only."""
    return accumulate(x, ufunc="add", axis=axis_of_vector(x.trace.op, axis, x.ndim))


@operation("cumprod")
def cumprod(x: Tensor, *, axis: int | None = None) -> Tensor:
    """Products of the elements up to each one along a dim, which is left out of vectors only."""
    return accumulate(x, ufunc="multiply", axis=axis_of_vector(x.trace.op, axis, x.ndim))


@operation("linear_recurrence")
def linear_recurrence(
    x: Tensor, factors: Tensor, initial: Tensor | None = None, *, axis: int = 1, reverse: bool = False
) -> Tensor:
    """h[t] = factors[t] * h[t - 1] + x[t] along a dim of each component: h[-1] is `initial`, 0 by default. With
    `reverse` h[t] = factors[t] * h[t + 1] + x[t], from the end on. All three broadcast, `initial` with an extent of 1
    along the dim.

    A factor of 0 forgets what was before, also where that is infinite or nan.

    Discounted sums, moving averages and state-space models are such. Elements are combined in order, by a loop for each
    component on a CPU, and by a thread for each component and feature on a GPU. The dtype is that of products, a float;
    short ones are computed in float32. Gradients are recurrences too.

    ```python
    returns = rg.linear_recurrence(rewards, 0.99, reverse=True)
    smooth = rg.linear_recurrence(0.1 * x, 0.9, initial=first[:, None])
    ```

    ArgumentError for an initial of more elements along the dim; LayoutError where that is not an innermost one;
    RuntimeCheckError for lengths and extents that differ."""
    dtype = float_dtype(resolve("multiply", [factors, x])[1][0])
    inner, always = wide(dtype), x.trace.constant(True, BOOL)
    x, factors = (astype(v, dtype=inner) for v in (source(x), factors))
    x = where(always, x, factors)  # all of one structure
    dim = dim_of(x, axis)
    if initial is not None:
        _check_initial(initial, x, dim)
        initial = astype(initial, dtype=inner)
        x = where(always, x, initial)
    factors = where(always, factors, x)
    if initial is not None:
        ones = where(always, x.trace.constant(1.0, inner), x)
        place = _made(x, builders.scan(ones.value, dim, "sum", reverse))
        first = UFUNCS["equal"](place, 1)
        x = where(first, UFUNCS["add"](x, UFUNCS["multiply"](factors, initial)), x)
        factors = where(first, x.trace.constant(0.0, inner), factors)  # what was before it is in it
    made = _recurred(x, factors, dim, reverse)
    return made if made.dtype == dtype else astype(made, dtype=dtype)


def _check_initial(initial: Tensor, x: Tensor, dim: int) -> None:
    """ArgumentError for more than one number along the dim."""
    at = dim - (x.ndim - initial.ndim)
    if at >= 0 and not (initial.layout.is_plain(at) and initial.static_shape[at] == 1):
        given = f"{initial.described} (one of each component is initial[:, None])"
        raise ArgumentError(f"{x.trace.op}: expected an initial of extent 1 along dim {dim}, got {given}")


def _scanned(x: Tensor, dim: int, ufunc: str) -> Tensor:
    out = SCANS[ufunc](x.dtype)
    inner = wide(out)
    start = astype(x, dtype=inner) if x.dtype != inner else x
    made = (
        _log_sums(start, dim) if ufunc == "logaddexp" else _made(start, builders.scan(start.value, dim, _KINDS[ufunc]))
    )
    return made if inner == out else astype(made, dtype=out)


def _made(x: Tensor, value: ir.Value) -> Tensor:
    """A value with the structure and the dtype of `x`."""
    return Tensor(x.trace, value, x.dtype, x.axes)


def _recurred(x: Tensor, factors: Tensor, dim: int, reverse: bool = False) -> Tensor:
    """A linear recurrence at each element: its factor times what was before, which one of 0 forgets, and its term."""
    before = _made(x, builders.recurrence(x.value, factors.value, dim, reverse))
    made = UFUNCS["add"](UFUNCS["multiply"](factors, before), x)
    return where(UFUNCS["equal"](factors, x.trace.constant(0.0, x.dtype)), x, made)


def _log_sums(x: Tensor, dim: int) -> Tensor:
    """Logarithms of the sums of exponentials so far: a recurrence of these sums, relative to the largest element so
    far, which has no part in the derivative."""
    still = mapped(x, [], x.dtype, lambda given: without_derivative(given[0], x.dtype))
    high, before = (_made(x, builders.scan(still.value, dim, "max", exclusive=e)) for e in (False, True))
    zero, one = (x.trace.constant(number, x.dtype) for number in (0.0, 1.0))
    base, last = (where(UFUNCS["isfinite"](v), v, zero) for v in (high, before))
    terms = UFUNCS["exp"](UFUNCS["subtract"](x, base))
    nothing = UFUNCS["equal"](before, x.trace.constant(-math.inf, x.dtype))  # and no factor, which may be infinite
    factors = where(nothing, zero, UFUNCS["exp"](UFUNCS["subtract"](last, base)))
    sums = _recurred(terms, factors, dim)
    empty = UFUNCS["equal"](sums, zero)
    return where(empty, high, UFUNCS["add"](base, UFUNCS["log"](where(empty, one, sums))))
