"""Running sums, products and others along a dim."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.index.dims import dim_of
from ragged_dialect.arrays.index.group import grouped
from ragged_dialect.arrays.ops.elementwise import astype
from ragged_dialect.arrays.ops.reduce import source
from ragged_dialect.arrays.ops.statistics import accumulator, wide
from ragged_dialect.arrays.ops.ufunc_bodies import Loop, element
from ragged_dialect.arrays.tracing.elements import BOOL
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.errors import ArgumentError
from ragged_dialect.passes.running_folds import passes_over, running_fold

SCANS: dict[str, Callable[[DType], DType]] = {
    "add": accumulator, "multiply": accumulator, "maximum": lambda dtype: dtype, "minimum": lambda dtype: dtype,
    "logical_or": lambda dtype: BOOL, "logical_and": lambda dtype: BOOL,
}  # fmt: skip
"""Ufuncs that can be scanned, with the dtype of the results."""


@operation("accumulate")
def accumulate(x: Tensor, *, ufunc: str, axis: int) -> Tensor:
    """A ufunc of the elements up to each one along a dim, in a number of passes that is the logarithm of the
    longest component: every pass combines with what is twice as far away. On a CPU there is one pass. ArgumentError
    for a ufunc that has no order of its own."""
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

    def combine(before: ir.Value, given: ir.Value) -> ir.Value:
        return element(ufunc, Loop(inner, inner), before, given)

    made = Tensor(x.trace, running_fold(start.value, passes_over(x.value, dim), dim, combine), inner, x.axes)
    return made if inner == out else astype(made, dtype=out)
