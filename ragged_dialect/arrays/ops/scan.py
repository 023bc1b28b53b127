"""Running sums, products and others along a dim."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect import builders
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.index.dims import dim_of
from ragged_dialect.arrays.index.group import grouped
from ragged_dialect.arrays.ops.elementwise import astype
from ragged_dialect.arrays.ops.reduce import source
from ragged_dialect.arrays.ops.statistics import accumulator, wide
from ragged_dialect.arrays.tracing.elements import BOOL
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.errors import ArgumentError

SCANS: dict[str, Callable[[DType], DType]] = {
    "add": accumulator, "multiply": accumulator, "maximum": lambda dtype: dtype, "minimum": lambda dtype: dtype,
    "logical_or": lambda dtype: BOOL, "logical_and": lambda dtype: BOOL,
}  # fmt: skip
"""Ufuncs that can be scanned, with the dtype of the results."""

_KINDS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_or": "max", "logical_and": "min",
}  # fmt: skip


@operation("accumulate")
def accumulate(x: Tensor, *, ufunc: str, axis: int) -> Tensor:
    """A ufunc of the elements up to each one along a dim (`ragged.scan`). ArgumentError for a ufunc that has no order
    of its own."""
    if ufunc not in SCANS:
        raise ArgumentError(f"np.{ufunc}.accumulate: expected one of {', '.join(SCANS)}, got {ufunc}")
    x = source(x)
    grouping = grouped(x, frozenset({dim_of(x, axis)}))
    return grouping.back(_scanned(grouping.value, next(iter(grouping.dims)), ufunc))


@operation("cumsum")
def cumsum(x: Tensor, *, axis: int) -> Tensor:
    """Sums of the elements up to each one along a dim."""
    return accumulate(x, ufunc="add", axis=axis)


@operation("cumprod")
def cumprod(x: Tensor, *, axis: int) -> Tensor:
    """Products of the elements up to each one along a dim."""
    return accumulate(x, ufunc="multiply", axis=axis)


def _scanned(x: Tensor, dim: int, ufunc: str) -> Tensor:
    out = SCANS[ufunc](x.dtype)
    inner = wide(out)
    start = astype(x, dtype=inner) if x.dtype != inner else x
    made = Tensor(x.trace, builders.scan(start.value, dim, _KINDS[ufunc]), inner, x.axes)
    return made if inner == out else astype(made, dtype=out)
