"""Softmax and its family, layer_norm, rms_norm: over ragged, dense or several dims."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import arith, ir, math
from ragged_dialect.arrays.index.dims import AxisArgument, dims_of
from ragged_dialect.arrays.index.group import grouped
from ragged_dialect.arrays.ops.elementwise import UFUNCS, astype, where
from ragged_dialect.arrays.ops.reduce import finish, kept, reduce, source
from ragged_dialect.arrays.ops.statistics import count, float_dtype, mean_of, squares_about, summed, wide
from ragged_dialect.arrays.ops.ufunc_floats import without_derivative
from ragged_dialect.arrays.tracing import elements
from ragged_dialect.arrays.tracing.loops import empty, loops_of, mapped
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.ir import build


def _floating(x: Tensor) -> Tensor:
    x = source(x)
    dtype = float_dtype(x.dtype)
    return x if dtype == x.dtype else astype(x, dtype=dtype)


def _with_reduced(x: Tensor, dims: frozenset[int], reduced: list[Tensor], body: Callable[..., ir.Value]) -> Tensor:
    """What a body makes of elements of `x` and those of results of its reduction, at their kept dims, in the dtype of
    these."""
    left, inner = kept(x, dims).dims, reduced[0].dtype

    def converted(given: list[ir.Value]) -> ir.Value:
        return elements.convert(body(elements.convert(given[0], x.dtype, inner), *given[1:]), inner, x.dtype)

    return mapped(x, [(r, left) for r in reduced], x.dtype, converted)


def _maximum_and_sum(x: Tensor, dims: frozenset[int]) -> tuple[Tensor, Tensor]:
    """The largest element, and the sum of exp(x - largest). What is made of both does not depend on which number is
    taken off: the largest one has no part in derivatives."""
    inner = wide(x.dtype)

    def largest(given: list[ir.Value], accumulated: list[ir.Value]) -> list[ir.Value]:
        element = without_derivative(elements.convert(given[0], x.dtype, inner), inner)
        return [arith.maximumf(accumulated[0], element)]

    (high,) = reduce(x, dims, [(inner, elements.infinity(inner, -1))], largest)
    return high, summed(x, dims, inner, lambda e: math.exp(arith.subf(*e)), [high])


@operation("softmax")
def softmax(x: Tensor, *, axis: AxisArgument = 1) -> Tensor:
    """exp(x) divided by its sum along dims; the largest element is subtracted first."""
    found = grouped(_floating(x), dims_of(x, axis))
    return found.back(_softmax(found.value, found.dims))


def _softmax(x: Tensor, dims: frozenset[int]) -> Tensor:
    if len(dims) == 1:
        return _named_softmax(x, next(iter(dims)))
    high, sums = _maximum_and_sum(x, dims)

    def share(element: ir.Value, high: ir.Value, inverse: ir.Value) -> ir.Value:
        return arith.mulf(math.exp(arith.subf(element, high)), inverse)

    return _with_reduced(x, dims, [high, UFUNCS["reciprocal"](sums)], share)


def _named_softmax(x: Tensor, dim: int) -> Tensor:
    out = empty(x.axes, loops_of(x).levels, x.dtype)
    weights = build.made("linalg.softmax", out.type, x.value, out, dimension=f"{dim} : i64")
    return Tensor(x.trace, weights, x.dtype, x.axes)


@operation("logsumexp")
def logsumexp(x: Tensor, *, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
    """log of the sum of exp(x) over dims; -inf for an empty component."""
    x = _floating(x)
    dims = dims_of(x, axis)
    found = grouped(x, dims)
    high, sums = _maximum_and_sum(found.value, found.dims)
    finite = UFUNCS["isfinite"](high)
    made = where(finite, UFUNCS["add"](high, UFUNCS["log"](sums)), high)
    made = astype(made, dtype=x.dtype)
    return finish(x, made, dims, keepdims)


@operation("log_softmax")
def log_softmax(x: Tensor, *, axis: AxisArgument = 1) -> Tensor:
    """log of the softmax along dims."""
    grouping = grouped(_floating(x), dims_of(x, axis))
    high, sums = _maximum_and_sum(grouping.value, grouping.dims)

    def body(element: ir.Value, high: ir.Value, total: ir.Value) -> ir.Value:
        return arith.subf(arith.subf(element, high), total)

    return grouping.back(_with_reduced(grouping.value, grouping.dims, [high, UFUNCS["log"](sums)], body))


@operation("layer_norm")
def layer_norm(
    x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, *, axis: AxisArgument = -1, eps: float = 1e-5
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) over dims, times `weight` plus `bias`, which broadcast."""
    grouping = grouped(_floating(x), dims_of(x, axis))
    middle, number = mean_of(grouping.value, grouping.dims)
    scale = _inverse_root(UFUNCS["divide"](squares_about(grouping.value, grouping.dims, middle), number), eps)

    def body(element: ir.Value, mean: ir.Value, factor: ir.Value) -> ir.Value:
        return arith.mulf(arith.subf(element, mean), factor)

    made = _with_reduced(grouping.value, grouping.dims, [middle, scale], body)
    return _affine(grouping.back(made), weight, bias)


@operation("rms_norm")
def rms_norm(x: Tensor, weight: Tensor | None = None, *, axis: AxisArgument = -1, eps: float = 1e-5) -> Tensor:
    """x / sqrt(mean of squares + eps) over dims, times `weight`, which broadcasts."""
    grouping = grouped(_floating(x), dims_of(x, axis))
    inner = wide(grouping.value.dtype)
    sums = summed(grouping.value, grouping.dims, inner, lambda e: arith.mulf(e[0], e[0]))
    scale = _inverse_root(UFUNCS["divide"](sums, count(grouping.value, grouping.dims, inner)), eps)
    made = _with_reduced(grouping.value, grouping.dims, [scale], arith.mulf)
    return _affine(grouping.back(made), weight, None)


def _inverse_root(x: Tensor, eps: float) -> Tensor:
    """1 / sqrt(x + eps), once for all that is multiplied by it: a division takes as long as eight products."""

    def body(given: list[ir.Value]) -> ir.Value:
        root = math.sqrt(arith.addf(given[0], elements.constant(x.dtype, eps)))
        return arith.divf(elements.constant(x.dtype, 1), root)

    return mapped(x, [], x.dtype, body)


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is not None:
        x = UFUNCS["multiply"](x, weight)
    return x if bias is None else UFUNCS["add"](x, bias)
